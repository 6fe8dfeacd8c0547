extension Store {
    /// Calls a handler with everything that happens: with each commit of this store before that returns, and with the
    /// commits of others, perhaps several at once, when the store moves on.
    ///
    /// From the version that the store shows now on. Read-only stores can be followed too: others may write. Throws
    /// `already_in_write`, `closed`, `wrong_thread`, `invalid_argument` (the thread has no event loop).
    package func observeChanges(
        name: String = "", _ handler: @escaping (VersionChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        let dispatcher = notifications
        let observer = ChangeStreamObserver(name: name, dispatcher: dispatcher, handler: handler)
        let token = dispatcher.add(observer, seen: version)
        observer.storeToken = dispatcher.add(
            StoreObserver(name: name, dispatcher: dispatcher) { [weak observer] notification, _ in
                guard notification == .didChange, let observer else { return }
                observer.dispatcher?.serveNow(observer)
            })
        return token
    }
}
