extension Store {
    /// Calls a handler whenever the store has moved to a new version or committed one.
    ///
    /// Without autorefresh, the handler is also called when a newer version exists.
    ///
    /// The store's own commits call it before they return; a handler's own commits do not call it again. A store that
    /// was opened read-only receives the commits of other stores. Throws `already_in_write`, `closed`, `wrong_thread`,
    /// `invalid_argument` (the thread has no event loop).
    public func observe(
        name: String = "", _ handler: @escaping (StoreNotification, Store) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        return notifications.add(
            StoreObserver(name: name, dispatcher: notifications, handler: handler))
    }

    /// Throws the errors that all kinds of observation share.
    func checkObservable() throws {
        try check()
        guard !isInWrite else {
            throw alreadyInWrite(
                "observing is not possible inside a write transaction", "observe before or after it"
            )
        }
        guard scheduler.canDeliver else {
            throw StoreError(
                .invalidArgument,
                "observing needs a thread with an event loop that can call the observer")
        }
    }
}
