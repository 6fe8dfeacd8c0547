import LuaHost
import ObjectStore

/// Sections of results, for scripts.
final class SectionsHandle: CountedHandle {
    let sections: SectionedResults
    let results: ResultsHandle

    init(_ sections: SectionedResults, _ results: ResultsHandle) {
        self.sections = sections
        self.results = results
    }

    var handle: StoreHandle { results.handle }
    var frozen: FrozenSpace? { results.frozen }
    var isValid: Bool { sections.isValid }
    var luaClass: LuaClass<SectionsHandle> { Self.type }

    func moved(to space: FrozenSpace?) -> LuaValue? {
        let moved = sections.moved(to: handle.source(at: space))
        let sections = SectionsHandle(moved, ResultsHandle(moved.results, handle, space))
        return handle.state.userdata(sections, Self.type)
    }

    /// A description of the sections for messages.
    var subject: String { "\(results.subject) by \(sections.keyPath)" }
    var title: String { "Sections of \(subject)" }
    func count() throws -> Int { try sections.count() }

    /// Returns a section as a table `{ key =, objects = }`.
    func table(_ position: Int, _ state: LuaState) throws -> LuaTable {
        let (key, objects) = try sections.section(at: position)
        let table = state.makeTable(fields: 2)
        table["key"] = key == .null ? .nil : bridge.sectionKey(key)
        table["objects"] = state.userdata(results.refined(objects), ResultsHandle.type)
        return table
    }

    private func key(_ call: borrowing LuaCall) throws -> Value {
        try bridge.plain(call[2], "the key of a section")
    }

    /// Parses the arguments of `group_by`: a key path and optionally "desc", or an array of sort keys.
    static func make(_ results: ResultsHandle, _ call: borrowing LuaCall) throws -> SectionsHandle {
        SectionsHandle(
            try SectionedResults(results.results, by: QueryArguments.sortKeys(call)), results)
    }

    static let type: LuaClass<SectionsHandle> = LuaClass(
        name: "Sections",
        methods: versions + [
            LuaMethod("keys") { sections, call in
                let keys = try sections.sections.keys()
                return call.answer(
                    .table(try call.state.makeTable(of: keys, sections.bridge.sectionKey)))
            },
            LuaMethod("objects") { sections, call in
                return call.answer(
                    sections.results.refined(
                        try sections.sections.objects(withKey: sections.key(call))),
                    ResultsHandle.type)
            },
            LuaMethod("index_of") { sections, call in
                let position = try sections.sections.index(ofKey: sections.key(call))
                return call.answer(position.map { .integer(Int64($0 + 1)) } ?? .nil)
            },
            LuaMethod("observe") { sections, call in
                call.answer(
                    try ObserverBinding(sections.results.handle, call).observe(sections))
            },
            LuaMethod("observe_aggregate") { sections, call in
                call.answer(try AggregateBinding(call).observe(sections))
            },
        ],
        metamethods: counting + [CollectionMethods.pairs()],
        index: { sections, index, result in
            let count = try sections.sections.count()
            guard index >= 1, index <= Int64(count) else { return result.setNil() }
            result.set(.table(try sections.table(Int(index) - 1, result.state)))
        },
        setIndex: { _, _, _ in
            throw StoreError(
                .invalidArgument,
                "sections are computed and cannot be assigned; change the objects instead")
        })
}

/// The change that an observer of sections receives: a plain table.
struct SectionedChangeTable {
    private let sections: SectionsHandle

    init(_ sections: SectionsHandle) { self.sections = sections }

    func table(_ change: SectionedChange) throws -> LuaTable {
        let state = sections.results.handle.state
        let table = state.makeTable(fields: 7)
        func indices(_ positions: [Int]) throws -> LuaValue {
            .table(try state.makeTable(ofPositions: positions))
        }
        table["collection"] = state.userdata(sections, SectionsHandle.type)
        switch change.kind {
        case .initial: table["type"] = "initial"
        case .update: table["type"] = "update"
        case .error(let error):
            table["type"] = "error"
            table["error"] = state.value(of: error)
        }
        table["schema"] =
            sections.results.handle.store.notifications.deliveredSchema?.lua(state) ?? .nil
        table["section_deletions"] = try indices(change.sectionDeletions)
        table["section_insertions"] = try indices(change.sectionInsertions)
        let bridge = ValueBridge(sections.results.handle, nil)
        table["sections"] = .table(
            try state.makeTable(of: change.sections) { rows in
                let entry = state.makeTable(fields: 7)
                entry["section"] = .integer(Int64(rows.section + 1))
                entry["section_before"] = .integer(Int64(rows.sectionBefore + 1))
                entry["key"] = rows.key == .null ? .nil : bridge.sectionKey(rows.key)
                entry["deletions"] = try indices(rows.deletions)
                entry["insertions"] = try indices(rows.insertions)
                entry["modifications"] = try indices(rows.modifications)
                entry["modifications_new"] = try indices(rows.modificationsNew)
                return .table(entry)
            })
        // The error is ignored: it occurs only after the script has ended, when no code prints the table.
        table.metatable = try? sections.results.handle.module.changeMetatables.ofSections
        return table
    }
}

extension ObserverBinding {
    /// Implements `sections:observe(fn)`.
    func observe(_ sections: SectionsHandle) throws -> LuaValue {
        let (name, keyPaths) = (name, keyPaths)
        _ = try sections.sections.results.source.writableStore()
        return try answer(
            sections.subject,
            { call in
                try sections.sections.observe(keyPaths: keyPaths, name: name, pace: pace) {
                    change in
                    try call([.table(SectionedChangeTable(sections).table(change))])
                }
            })
    }
}
