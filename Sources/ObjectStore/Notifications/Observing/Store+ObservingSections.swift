extension SectionedResults {
    /// Calls a handler with the sections at the next delivery, and again whenever they change.
    ///
    /// The token keeps the observation alive; these sections need not be kept. Throws the errors of `Store.observe`,
    /// and `frozen` for sections of a frozen version.
    package func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (SectionedChange) throws -> Void
    ) throws -> NotificationToken {
        guard case .store(let store) = results.source else {
            throw StoreError(
                .frozen, "a frozen version never changes, so it cannot be observed")
        }
        return try store.observe(
            sections: rules, keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension Store {
    func observe(
        sections rules: SectionRules, keyPaths: [String], name: String, pace: ObserverPace?,
        _ handler: @escaping (SectionedChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        func make(
            _ name: String, _ handler: @escaping (SectionedChange) throws -> Void
        ) throws -> SectionsObserver {
            try SectionsObserver(
                rules, keyPaths: keyPaths, name: name, dispatcher: notifications,
                schema: view.schema,
                handler: handler)
        }
        let observer = try make(name, handler)
        if let delay = try makeDelay(pace) {
            observer.delay = delay
            let probe = try make("") { _ in }
            probe.recorder = { [weak delay] positions, lost, gained in
                delay?.probeDidReceive(positions, lost: lost, gained: gained)
            }
            delay.probe = probe
            notifications.enter(probe, seen: nil)
        }
        return notifications.add(observer, seen: nil)
    }
}
