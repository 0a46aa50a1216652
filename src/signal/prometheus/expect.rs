//! What a value has to be: by itself, and beside the members that run another version.

use std::fmt;

/// `>= 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expect {
    sign: Sign,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Least,
    Above,
    Most,
    Below,
    Equal,
    Unequal,
}

/// The longer ones first: `>=` begins with `>`.
const SIGNS: [(&str, Sign); 6] = [
    (">=", Sign::Least),
    ("<=", Sign::Most),
    ("==", Sign::Equal),
    ("!=", Sign::Unequal),
    (">", Sign::Above),
    ("<", Sign::Below),
];

/// Which of two values is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worse {
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
}

/// How much worse than the members on another version it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Baseline {
    margin: Margin,
    /// Whether `expect` alone decides where nobody runs another version.
    pub optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Margin {
    /// A share of the other value.
    Percent(f64),
    /// In the unit of the value.
    By(f64),
}

impl Expect {
    /// Reads it.
    ///
    /// # Errors
    /// Says what it should look like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = SIGNS.iter().find_map(|(sign, is)| Some((*is, text.trim().strip_prefix(sign)?)));
        let bound = found.and_then(|(_, bound)| number(bound));
        match (found, bound) {
            (Some((sign, _)), Some(bound)) => Ok(Self { sign, bound }),
            _ => Err(format!("{} is no comparison with a number", parse::quoted(text))),
        }
    }

    /// Whether a value is as it should be; NaN never is.
    pub fn holds(self, value: f64) -> bool {
        match self.sign {
            Sign::Least => value >= self.bound,
            Sign::Above => value > self.bound,
            Sign::Most => value <= self.bound,
            Sign::Below => value < self.bound,
            Sign::Equal => (value - self.bound).abs() <= f64::EPSILON * self.bound.abs(),
            Sign::Unequal => !value.is_nan() && (value - self.bound).abs() > f64::EPSILON * self.bound.abs(),
        }
    }

    /// Which of two values is worse; none where neither direction is.
    pub fn worse(self) -> Option<Worse> {
        match self.sign {
            Sign::Least | Sign::Above => Some(Worse::Lower),
            Sign::Most | Sign::Below => Some(Worse::Higher),
            Sign::Equal | Sign::Unequal => None,
        }
    }
}

impl Worse {
    /// The worst of some values.
    pub fn worst(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Self::Lower => values.reduce(f64::min),
            Self::Higher => values.reduce(f64::max),
        }
    }
}

impl Baseline {
    /// Reads `10%` or `0.5`.
    ///
    /// # Errors
    /// Says what it should look like.
    pub fn parse(margin: &str, optional: bool) -> Result<Self, String> {
        let (text, percent) = margin.trim().strip_suffix('%').map_or((margin, false), |text| (text, true));
        let value = number(text).filter(|value| *value >= 0.0 && (!percent || *value <= 1_000.0));
        let value = value.ok_or_else(|| format!("{} is no margin", parse::quoted(margin)))?;
        Ok(Self { margin: if percent { Margin::Percent(value) } else { Margin::By(value) }, optional })
    }

    /// The worst value that is not worse than the others', and what it is held against: their median. None where
    /// there are no others.
    pub fn bound(self, worse: Worse, others: &[f64]) -> Option<(f64, f64)> {
        let mut others: Vec<f64> = others.iter().copied().filter(|value| value.is_finite()).collect();
        others.sort_by(f64::total_cmp);
        let middle = others.len() / 2;
        let upper = *others.get(middle)?;
        let median = if others.len().is_multiple_of(2) { (others[middle - 1] + upper) / 2.0 } else { upper };
        let margin = match self.margin {
            Margin::Percent(percent) => median.abs() * percent / 100.0,
            Margin::By(value) => value,
        };
        let bound = match worse {
            Worse::Lower => median - margin,
            Worse::Higher => median + margin,
        };
        Some((bound, median))
    }
}

/// A number as people write it.
fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = SIGNS.iter().find(|(_, sign)| *sign == self.sign).map_or("", |(text, _)| text);
        write!(f, "{sign} {}", self.bound)
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.margin {
            Margin::Percent(percent) => write!(f, "{percent}%"),
            Margin::By(value) => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn comparisons() {
        for (text, yes, no) in [
            (">= 1", vec![1.0, 2.0, f64::INFINITY], vec![0.9, f64::NAN]),
            (">1", vec![1.1], vec![1.0, f64::NAN]),
            ("<= 0.01", vec![0.01, -1.0], vec![0.02, f64::INFINITY, f64::NAN]),
            ("< 1e-2", vec![0.0], vec![0.01]),
            ("== 0", vec![0.0, -0.0], vec![1.0, f64::NAN]),
            ("!= 0", vec![1.0], vec![0.0, f64::NAN]),
        ] {
            let expect = Expect::parse(text).unwrap();
            yes.iter().for_each(|value| assert!(expect.holds(*value), "{value} {text}"));
            no.iter().for_each(|value| assert!(!expect.holds(*value), "{value} {text}"));
        }
        assert_eq!(Expect::parse(">=1.50").unwrap().to_string(), ">= 1.5");
        for text in ["", "1", "= 1", ">= ", ">= one", "> NaN", "< inf", "=> 1", ">= 1 or 2"] {
            Expect::parse(text).unwrap_err();
        }
    }

    #[test]
    fn others_are_taken_by_their_median() {
        let within = |margin: &str, worse, others: &[f64]| Baseline::parse(margin, false).unwrap().bound(worse, others);
        assert_eq!(within("10%", Worse::Higher, &[1.0, 100.0, 2.0]), Some((2.2, 2.0)));
        assert_eq!(within("10%", Worse::Lower, &[10.0, 20.0]), Some((13.5, 15.0)));
        assert_eq!(within("10%", Worse::Higher, &[-10.0]), Some((-9.0, -10.0)));
        assert_eq!(within("0.5", Worse::Higher, &[0.0]), Some((0.5, 0.0)));
        assert_eq!(within("10%", Worse::Higher, &[f64::NAN]), None, "which proves nothing");
        assert_eq!(within("10%", Worse::Higher, &[]), None);
        for text in ["", "%", "-1", "-1%", "ten", "NaN", "2000%"] {
            Baseline::parse(text, false).unwrap_err();
        }
    }
}
