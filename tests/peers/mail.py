"""A mail server of aiosmtpd with logins: one port by TLS from the start, one by STARTTLS. What it takes is a line of JSON
each on its output; addresses in the file `refuse` are refused."""

import email
import email.policy
import json
import logging
import pathlib
import ssl
import sys
import time
import warnings

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

# What it says of its own settings; by its own count only STARTTLS is TLS.
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

folder = pathlib.Path(sys.argv[1])
wrapped, upgraded = int(sys.argv[2]), int(sys.argv[3])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder / "cert.pem", folder / "key.pem")


def login(server, session, envelope, mechanism, given):
    good = (given.login, given.password) == (b"coldframe", b"p@ss/word")
    return AuthResult(success=good, handled=False, auth_data=given.login)


class Inbox:
    """Takes mail."""

    def __init__(self, way):
        self.way = way

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address in (folder / "refuse").read_text().split():
            return "550 5.1.1 nobody is called that"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        said = {
            "way": self.way,
            "encrypted": session.ssl is not None or self.way == "smtps",
            "login": session.auth_data.decode(),
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "raw": envelope.content.isascii(),
            "defects": [str(defect) for defect in mail.defects],
            "headers": {name.lower(): str(value) for name, value in mail.items()},
            "text": mail.get_content(),
        }
        print(json.dumps(said), flush=True)
        return "250 taken"


common = {"hostname": "127.0.0.1", "authenticator": login, "auth_required": True}
by_tls = Controller(Inbox("smtps"), port=wrapped, ssl_context=context, auth_require_tls=False, **common)
by_starttls = Controller(Inbox("smtp"), port=upgraded, tls_context=context, require_starttls=True, **common)
by_tls.start()
by_starttls.start()
print(json.dumps("ready"), flush=True)
while True:
    time.sleep(60)
