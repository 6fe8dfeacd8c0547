import LuaHost
import ObjectStore

extension StoreHandle {
    /// The methods for earlier versions.
    static let historyMethods: [LuaMethod<StoreHandle>] = [
        LuaMethod("at") { handle, call in
            call.answer(try handle.space(at: call.version(2)), FrozenSpace.type)
        },
        LuaMethod("versions") { handle, call in
            let versions = try handle.store.versions()
            return call.answer(
                .table(
                    try call.state.makeTable(of: versions) { .table(handle.table(of: $0)) }))
        },
        LuaMethod("diff") { handle, call in
            let (first, second) = (try call.version(2), try call.version(3))
            let difference = try handle.store.difference(
                from: first, to: second, for: try handle.module.holder)
            return call.answer(
                .table(
                    try DifferenceTable(
                        handle, first: handle.frozenSpace(of: difference.first),
                        second: handle.frozenSpace(of: difference.second)
                    ).table(difference)))
        },
        LuaMethod("undo") { handle, call in
            try call.state.checkStopping()
            let version = call.isNil(2) ? try handle.store.undo() : try call.version(2)
            if !call.isNil(2) { try handle.store.restore(version) }
            try handle.acknowledge()
            return call.answer(.integer(Int64(clamping: version)))
        },
        LuaMethod("redo") { handle, call in
            try call.state.checkStopping()
            let version = try handle.store.redo()
            try handle.acknowledge()
            return call.answer(.integer(Int64(clamping: version)))
        },
    ]

    /// Returns a version as an element of what `versions` returns.
    package func table(of version: VersionSummary) -> LuaTable {
        let table = state.makeTable(fields: 8)
        addOrigin(of: version.version, to: table)
        table["version"] = .integer(Int64(clamping: version.version))
        table["changes_schema"] = .boolean(version.changesSchema)
        table["is_kept"] = .boolean(version.isKept)
        if let restored = version.restored {
            table["restored"] = .integer(Int64(clamping: restored))
        }
        let classes = state.makeTable(fields: version.classes.count)
        for counts in version.classes {
            let entry = state.makeTable(fields: 4)
            let properties = counts.properties.map { property in
                let table = state.makeTable(fields: 2)
                table["name"] = .text(property.name)
                table["count"] = .integer(Int64(property.count))
                return LuaValue.table(table)
            }
            entry["properties"] = .table(state.makeTable(properties))
            entry["inserted"] = .integer(Int64(counts.inserted))
            entry["deleted"] = .integer(Int64(counts.deleted))
            entry["modified"] = .integer(Int64(counts.modified))
            classes[counts.className] = .table(entry)
        }
        table["classes"] = .table(classes)
        return table
    }

    /// Adds the time, the script and the process of a commit, as far as they are known.
    func addOrigin(of version: UInt64, to table: LuaTable) {
        guard let commit = store.commit(of: version) else { return }
        table["time"] = dates.userdata(commit.time, state)
        guard !commit.script.isEmpty else { return }
        table["script"] = .text(commit.script)
        table["process"] = .integer(Int64(commit.process))
    }

    /// Returns the store at a version as a script value.
    package func value(at version: UInt64) throws -> LuaValue {
        state.userdata(try space(at: version), FrozenSpace.type)
    }

    /// Returns the store at a version; the current store for nil.
    private func space(at version: UInt64) throws -> FrozenSpace {
        frozenSpace(of: try store.at(version, for: try module.holder))
    }
}

/// The differences between two versions, as a table for scripts.
private struct DifferenceTable {
    private let handle: StoreHandle
    private let first: FrozenSpace
    private let second: FrozenSpace

    init(_ handle: StoreHandle, first: FrozenSpace, second: FrozenSpace) {
        self.handle = handle
        self.first = first
        self.second = second
    }

    func table(_ difference: VersionDifference) throws -> LuaTable {
        let state = handle.state
        let table = state.makeTable(fields: difference.classes.count)
        for entry in difference.classes {
            let parts = state.makeTable(fields: 3)
            parts["inserted"] = .table(
                try state.makeTable(of: entry.inserted) { second.userdata($0) })
            parts["deleted"] = .table(
                try state.makeTable(of: entry.deleted) { first.userdata($0) })
            parts["modified"] = .table(
                try state.makeTable(of: entry.modified) { .table(row($0)) })
            table[entry.classSchema.name] = .table(parts)
        }
        return table
    }

    private func row(_ difference: VersionDifference.ObjectDifference) -> LuaTable {
        let state = handle.state
        let row = state.makeTable(fields: 2)
        row["object"] = second.userdata(difference.object)
        row["properties"] = .table(
            state.makeTable(
                difference.properties.map { property in
                    let entry = state.makeTable(fields: 3)
                    entry["name"] = .text(property.property.name)
                    entry["old"] = ValueBridge(handle, first).lua(property.old)
                    entry["new"] = ValueBridge(handle, second).lua(property.new)
                    return .table(entry)
                }))
        return row
    }
}

extension LuaCall {
    /// Returns a version argument.
    ///
    /// A negative number is never a valid version.
    fileprivate borrowing func version(_ index: Int) throws -> UInt64 {
        let number = try integer(index)
        guard number >= 0 else {
            throw argumentError(index, "a version must be a whole number, 0 or more")
        }
        return UInt64(number)
    }
}
