//! What rings: webhooks and alarms. A ring carries no facts.
