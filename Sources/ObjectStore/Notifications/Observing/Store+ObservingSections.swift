extension SectionedResults {
    /// Calls a handler with the sections at the next delivery, and again whenever they change.
    ///
    /// The token keeps the observation alive; these sections need not be kept. Throws the errors of `Store.observe`,
    /// and `frozen` for sections of a frozen version.
    package func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (SectionedChange) throws -> Void
    ) throws -> NotificationToken {
        try results.source.observableStore().observe(
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
        return try register(make(name, handler), pace: pace, seen: nil) { delay in
            let probe = try make("") { _ in }
            probe.recorder = { [weak delay] positions, lost, gained in
                delay?.probeDidReceive(positions, lost: lost, gained: gained)
            }
            return probe
        }
    }
}
