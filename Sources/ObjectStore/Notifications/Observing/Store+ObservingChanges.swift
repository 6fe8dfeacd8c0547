extension Store {
    /// Calls a handler with every change after the store's current version.
    ///
    /// The handler receives each commit of this store before the commit returns. It receives commits of other stores,
    /// possibly several at once, when this store advances. Read-only stores can be observed too, because other stores
    /// may write. Throws `already_in_write`, `closed`, `wrong_thread`, `invalid_argument` (the thread has no event
    /// loop).
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
