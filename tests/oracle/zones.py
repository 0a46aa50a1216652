"""When windows are open, worked out a second time: with Python's zoneinfo, and by cutting time into stretches of
constant offset instead of asking instant by instant.

Reads a list of windows (JSON, the forms of the policy file) and prints, as lines of JSON, the IANA release first, then
for every set of zones with the same transitions in 2024-2030 and every window those transitions, [instant, offset],
and what holds at instants around each of them: [instant, open, next change]. Instants are seconds since 1970."""

import bisect
import json
import re
import sys
import zoneinfo
from datetime import datetime, timedelta

import tzdata

EPOCH = datetime(1970, 1, 1)
DAY = 86400


def seconds(year, month, day):
    return int((datetime(year, month, day) - EPOCH).total_seconds())


# Time is looked at a little longer than it is asked about, so that no window is cut at an edge.
BEGIN, END = seconds(2023, 11, 1), seconds(2034, 1, 1)
FIRST, LAST = seconds(2024, 1, 1), seconds(2031, 1, 1)
AROUND = (-DAY, -3601, -1800, -1, 0, 1, 1799, 3600, DAY, 3 * DAY + 17)
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


# --- zones ----------------------------------------------------------------------------------------


def offset(zone, at):
    return int(datetime.fromtimestamp(at, zone).utcoffset().total_seconds())


def transitions(name):
    """The offsets of a zone: [(from when on, offset)], the first from BEGIN on."""
    zone = zoneinfo.ZoneInfo(name)
    found = [(BEGIN, offset(zone, BEGIN))]
    for at in range(BEGIN, END, DAY // 2):
        after = offset(zone, at + DAY // 2)
        if after == found[-1][1]:
            continue
        low, high = at, at + DAY // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(zone, middle) == found[-1][1] else (low, middle)
        found.append((high, after))
    return tuple(found)


def stretches(changes):
    """(begin, end, offset) of each time of constant offset."""
    ends = [at for at, _ in changes[1:]] + [END]
    return [(begin, end, shift) for (begin, shift), end in zip(changes, ends)]


# --- what the file says ---------------------------------------------------------------------------


def duration(text):
    units = {"s": 1, "m": 60, "h": 3600, "d": DAY}
    return sum(int(amount) * units[unit] for amount, unit in re.findall(r"(\d+)([smhd])", text))


def words(text):
    """The weekdays (0 = Monday) on which a range begins, and its seconds of the day."""
    parts = text.split()
    hours = parts[-1]
    days = set(range(7))
    if len(parts) == 2:
        days = set()
        for part in parts[0].split(","):
            ends = [WEEKDAYS.index(day[:3].lower()) for day in part.split("-")]
            days |= {(ends[0] + step) % 7 for step in range((ends[-1] - ends[0]) % 7 + 1)}
    begin, end = (int(time[:2]) * 3600 + int(time[3:]) * 60 for time in hours.split("-"))
    return days, begin, end if end > begin else end + DAY


def field(text, low, high, names=()):
    values = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            span = f"{low}-{high}"
        ends = [names.index(end.lower()) + low if end.lower() in names else int(end) for end in span.split("-")]
        values |= set(range(ends[0], ends[-1] + 1, int(step or 1)))
    return values


class Cron:
    def __init__(self, text):
        minute, hour, day, month, weekday = text.split()
        self.times = [
            h * 3600 + m * 60 for h in sorted(field(hour, 0, 23)) for m in sorted(field(minute, 0, 59))
        ]
        self.days, self.months = field(day, 1, 31), field(month, 1, 12, MONTHS)
        self.weekdays = {value % 7 for value in field(weekday, 0, 7, ["sun"] + WEEKDAYS[:6])}
        self.either = day != "*" and weekday != "*"

    def names(self, day):
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        on = (of_month or of_week) if self.either else (of_month and of_week)
        return on and day.month in self.months


# --- intervals ------------------------------------------------------------------------------------


def dates(begin, end):
    """Local dates, as seconds, that a stretch of local seconds may touch; one before for what runs past midnight."""
    return range(begin // DAY * DAY - DAY, end + DAY, DAY)


def civil(local):
    return (EPOCH + timedelta(seconds=local)).date()


def merged(intervals):
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def of_words(text, pieces):
    days, begin, end = words(text)
    for from_, to, shift in pieces:
        for midnight in dates(from_ + shift, to + shift):
            if civil(midnight).weekday() in days:
                low, high = max(from_, midnight + begin - shift), min(to, midnight + end - shift)
                if low < high:
                    yield low, high


def of_cron(item, pieces):
    cron, length = Cron(item["cron"]), duration(item["for"])
    shown = -(10**12)
    for from_, to, shift in pieces:
        for midnight in dates(from_ + shift, to + shift):
            if not cron.names(civil(midnight)):
                continue
            for time in cron.times:
                local = midnight + time
                # A local time that clocks have shown before is a second showing.
                if from_ <= local - shift < to and local > shown:
                    yield local - shift, local - shift + length
        shown = max(shown, to + shift - 1)


def of_closed(item, pieces):
    begin, end = (int((datetime.fromisoformat(item[key]) - EPOCH).total_seconds()) for key in ("from", "to"))
    for from_, to, shift in pieces:
        low, high = max(from_, begin - shift), min(to, end + DAY - shift)
        if low < high:
            yield low, high


def without(intervals, holes):
    out = []
    for begin, end in intervals:
        for low, high in holes:
            if high <= begin or end <= low:
                continue
            if begin < low:
                out.append([begin, low])
            begin = max(begin, high)
        if begin < end:
            out.append([begin, end])
    return out


def open_intervals(windows, pieces):
    intervals = []
    for item in windows.get("open", []):
        intervals += of_words(item, pieces) if isinstance(item, str) else of_cron(item, pieces)
    if "open" not in windows:
        intervals = [(BEGIN, END)]
    closed = merged(hole for item in windows.get("closed", []) for hole in of_closed(item, pieces))
    room = duration(windows.get("room", "0s"))
    shut = without(merged(intervals), closed)
    # What lasts to the end of the time looked at has no end of its own.
    return [(begin, None if end >= END else end - room) for begin, end in shut if end - begin > room]


def answer(intervals, begins, at):
    before = bisect.bisect_right(begins, at) - 1
    if before >= 0:
        end = intervals[before][1]
        if end is None or at < end:
            return [at, 1, end]
    return [at, 0, intervals[before + 1][0]]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        list_of_windows = json.load(file)
    groups = {}
    for name in sorted(zoneinfo.available_timezones()):
        changes = transitions(name)
        if any(FIRST <= at < LAST for at, _ in changes):
            groups.setdefault(changes, []).append(name)
    print(json.dumps({"iana": tzdata.IANA_VERSION}))
    for changes, zones in groups.items():
        pieces = stretches(changes)
        instants = sorted({at + near for at, _ in changes if FIRST <= at < LAST for near in AROUND})
        for index, windows in enumerate(list_of_windows):
            intervals = open_intervals(windows, pieces)
            begins = [begin for begin, _ in intervals]
            answers = [answer(intervals, begins, at) for at in instants]
            print(json.dumps({"zones": zones, "changes": changes, "window": index, "answers": answers}, separators=(",", ":")))


main()
