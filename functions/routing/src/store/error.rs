//! What can go wrong with the routes table, and what to do then.

/// A store could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Throttled, in conflict with other transactions, or out of reach, over several attempts.
    #[error("the routes table is busy: {operation}: {code}")]
    Busy {
        /// The DynamoDB operation.
        operation: &'static str,
        /// Its last error code.
        code: String,
    },
    /// The invocation's time ran out first.
    #[error("the deadline was reached during {operation} on the routes table")]
    OutOfTime {
        /// The DynamoDB operation.
        operation: &'static str,
    },
    /// The request was not accepted and never will be as it is: permissions, a missing table, an invalid key.
    #[error("the routes table refused {operation}: {code}: {message}")]
    Refused {
        /// The DynamoDB operation.
        operation: &'static str,
        /// Its error code.
        code: String,
        /// DynamoDB's explanation; it names the missing permission.
        message: String,
    },
    /// An item does not have the layout's shape.
    #[error("the item {pk} / {sk} of the routes table cannot be read: {reason}")]
    Unreadable {
        /// Its partition key.
        pk: String,
        /// Its sort key.
        sk: String,
        /// What is missing or has another type.
        reason: String,
    },
}

/// What to do after a [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Waiting mends it.
    Defer,
    /// Somebody must mend it.
    Fail,
}

impl StoreError {
    /// What to do now.
    pub fn next_step(&self) -> NextStep {
        match self {
            Self::Busy { .. } | Self::OutOfTime { .. } => NextStep::Defer,
            Self::Refused { .. } | Self::Unreadable { .. } => NextStep::Fail,
        }
    }
}
