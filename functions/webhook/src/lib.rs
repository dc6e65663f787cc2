//! The webhook function: `POST /webhooks/sanity` becomes an event and its outbox item, in one transaction.
//!
//! It verifies, records and answers; it does nothing about the edit itself. Sanity drops for good what is answered with a
//! 4xx other than 429, and tries again for about half an hour after a 5xx. So 2xx is said only after the commit, 4xx
//! only where no retry could mend the request, and 503 whenever the fault is or may be ours.
//!
//! The binary only wires; [`handler`] is the whole table of requests and answers.

pub mod answer;
pub mod decide;
pub mod handler;
pub mod request;
pub mod settings;
pub mod trace;
pub mod verify;
