import LuaHost
import ObjectStore

extension StoreHandle {
    /// The methods for versions and for the file as a whole.
    static let versionMethods: [LuaMethod<StoreHandle>] = [
        resolving,
        LuaMethod("freeze") { handle, call in
            call.answer(try handle.frozenSpace(), FrozenSpace.type)
        },
        LuaMethod("thaw") { _, call in call.answerArgument(1) },
        LuaMethod("pins") { handle, call in
            let pins = try handle.store.pins().map { LuaValue.table(handle.table(of: $0)) }
            return call.answer(.table(call.state.makeTable(pins)))
        },
        LuaMethod("stats") { handle, call in
            call.answer(.table(try handle.statisticsTable()))
        },
        LuaMethod("backup") { handle, call in
            let path = try call.path(2, for: .writing)
            let options = try call.options(3)
            try handle.store.backup(
                to: path, isReplacing: options?["overwrite"].isTruthy == true)
            return .none
        },
    ]

    private func statisticsTable() throws -> LuaTable {
        let statistics = try store.statistics()
        let table = state.makeTable(fields: 12)
        func set(_ name: String, _ number: Int) { table[name] = .integer(Int64(number)) }
        set("version", Int(clamping: statistics.version))
        set("schema_version", Int(clamping: statistics.schemaVersion))
        set("objects", statistics.objects)
        set("file_bytes", statistics.fileBytes)
        set("used_bytes", statistics.usedBytes)
        set("free_pages", statistics.freePages)
        set("history_bytes", statistics.historyBytes)
        set("kept_versions", store.configuration.history)
        if let versions = statistics.historyVersions {
            set("first_version", Int(clamping: versions.lowerBound))
            set("last_version", Int(clamping: versions.upperBound))
        }
        set("pins", statistics.pins.count)
        table["classes"] = .table(
            try state.makeTable(of: statistics.classes) { found in
                let entry = state.makeTable(fields: 4)
                entry["name"] = .text(found.name)
                entry["objects"] = .integer(Int64(found.objects))
                entry["bytes"] = .integer(Int64(found.bytes))
                entry["is_embedded"] = .boolean(found.isEmbedded)
                return .table(entry)
            })
        return table
    }

    private func table(of pin: VersionPin) -> LuaTable {
        let table = state.makeTable(fields: 9)
        table["version"] = .integer(Int64(clamping: pin.version))
        table["kind"] = .text(pin.kind.rawValue)
        table["held_by"] = .text(pin.summary)
        if !pin.holder.script.isEmpty { table["script"] = .text(pin.holder.script) }
        let location = pin.holder.location
        if let colon = location.lastIndex(of: ":") {
            table["source"] = .text(String(location[..<colon]))
            table["line"] =
                Int64(location[location.index(after: colon)...]).map(LuaValue.integer) ?? .nil
        }
        if let since = pin.since { table["since"] = dates.userdata(since, state) }
        table["process"] = .integer(Int64(pin.process))
        table["bytes"] = .integer(Int64(pin.bytes))
        return table
    }
}
