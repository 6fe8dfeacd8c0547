import DataFormats
import LuaHost
import ObjectStore
import Transfer

/// Results whose rows are projections.
package final class ProjectedResultsHandle: RowsHandle {
    let shape: ProjectionShape
    /// The results whose objects are projected.
    let base: ResultsHandle

    init(_ shape: ProjectionShape, _ base: ResultsHandle) {
        self.shape = shape
        self.base = base
    }

    var handle: StoreHandle { base.handle }
    var frozen: FrozenSpace? { base.frozen }
    var luaClass: LuaClass<ProjectedResultsHandle> { Self.type }

    func moved(to space: FrozenSpace?) -> LuaValue? {
        let moved = base.results.moved(to: handle.source(at: space))
        let results = ProjectedResultsHandle(shape, ResultsHandle(moved, handle, space))
        return handle.state.userdata(results, Self.type)
    }

    /// Whether the results can be read.
    package var isValid: Bool { base.results.isValid }

    /// The name of the class of the objects.
    package var className: String { shape.classSchema.name }

    /// The projected names in order.
    package var names: [String] { shape.names }

    /// The number of rows.
    package func count() throws -> Int { try base.results.count() }

    var title: String { "projections of \(className)" }

    /// Returns the first rows, each with its values in the order of ``names``.
    package func rows(_ limit: Int) throws -> [[Value]] {
        try base.results.keys().array.prefix(limit).map { key in
            let object = base.results.source.object(shape.classSchema, key)
            return try shape.fields.map { try $0.value(of: object) }
        }
    }

    /// The source of the values, for looking up objects.
    package var objects: ObjectSource { base.results.source }

    private func row(_ reference: ObjectReference) -> LuaValue {
        handle.state.userdata(
            ProjectionHandle(shape, of: reference, in: handle, at: base.frozen),
            ProjectionHandle.type)
    }

    func forEachRow(_ body: (LuaValue) throws -> Void) throws {
        for reference in try base.references() { try body(row(reference)) }
    }

    private func row(_ object: LiveObject?) -> LuaValue { object.map { row($0.reference) } ?? .nil }

    /// Implements `results:project { … }` and `object:project { … }`.
    static func make(
        _ results: ResultsHandle, _ call: borrowing LuaCall
    ) throws -> LuaAnswer {
        let view = try results.results.source.openView()
        let shape = try ProjectionShape(
            call, class: results.results.classSchema(), schema: view.schema)
        return call.answer(
            ProjectedResultsHandle(shape, results), ProjectedResultsHandle.type)
    }

    static let type: LuaClass<ProjectedResultsHandle> = LuaClass(
        name: "ProjectedResults",
        methods: CollectionMethods.refining({ $0.base }) { ProjectedResultsHandle($0.shape, $1) }
            + CollectionMethods.aggregating { $0.base } + CollectionMethods.iterating { $0 }
            + versions + [
                LuaMethod("first") { results, call in
                    call.answer(results.row(try results.base.results.first()))
                },
                LuaMethod("last") { results, call in
                    call.answer(results.row(try results.base.results.last()))
                },
                LuaMethod("each") { results, call in
                    let references = try results.base.references()
                    return call.answer(each: references.count) { results.row(references[$0]) }
                },
                LuaMethod("root") { results, call in
                    call.answer(results.base, ResultsHandle.type)
                },
                LuaMethod("to_table") { results, call in call.answer(.table(try results.table())) },
                LuaMethod("export") { results, call in
                    try ProjectionExport(results).write(call)
                },
                LuaMethod("observe") { results, call in
                    call.answer(try ObserverBinding(results.handle, call).observe(results))
                },
            ],
        metamethods: counting + [CollectionMethods.pairs()],
        index: { results, index, result in
            let keys = try results.base.results.keys()
            guard index >= 1, index <= Int64(keys.count) else { return result.setNil() }
            let reference = ObjectReference(
                table: results.base.results.query.table, key: keys[Int(index) - 1])
            result.set(results.row(reference))
        },
        setIndex: { _, _, _ in
            throw StoreError(
                .invalidArgument,
                "projections are computed and cannot be assigned; assign their properties instead"
            )
        })

    /// Returns an array of plain tables.
    ///
    /// Throws `MemoryLimitReached` if the script does not have enough memory for it.
    func table() throws -> LuaTable {
        // Each row is stored at once: references to all rows would take more memory than the rows.
        let rows = handle.state.makeTable()
        var count = 0
        try forEachTable { row in
            count += 1
            rows[count] = .table(row)
        }
        return rows
    }

    /// Calls `body` with the plain table of each row.
    func forEachTable(_ body: (LuaTable) throws -> Void) throws {
        let table = base.results.query.table
        for key in try base.results.keys() {
            let reference = ObjectReference(table: table, key: key)
            guard let object = base.results.source.object(reference) else { continue }
            try body(
                ProjectionHandle(shape, of: reference, in: handle, at: base.frozen).table(object))
        }
    }
}

extension ObserverBinding {
    /// Implements `projections:observe(fn, { keypaths = { "city" } })`.
    func observe(_ results: ProjectedResultsHandle) throws -> LuaValue {
        let (handle, name, pace) = (results.handle, name, pace)
        try refuseRemote("projected results")
        let fields = try results.shape.fields(named: keyPaths)
        _ = try results.base.results.source.writableStore()
        return try answer(
            "projections of \(results.base.subject)",
            { call in
                try handle.store.observe(
                    results.base.results.query, keyPaths: fields.flatMap(\.path.observed),
                    name: name, pace: pace
                ) { [weak handle] change in
                    guard let handle else { return }
                    let rows = try ProjectedRows(change, results, fields)
                    if rows.isSilent { return }
                    try ChangeHandle(change, results, rows: rows)
                        .pass(to: call, handle.state)
                }
            })
    }
}

/// The modified rows of a change whose projected values differ.
struct ProjectedRows {
    struct Row {
        /// The index of the row in the modifications of the change.
        let index: Int
        let reference: ObjectReference
        let old: [Value]
        let new: [Value]
    }

    let fields: [ProjectionShape.Field]
    private(set) var rows: [Row] = []
    /// Whether nothing that the observer depends on has changed.
    let isSilent: Bool

    /// Compares the projected values of each modified row before and after a change.
    init(
        _ change: CollectionChange, _ results: ProjectedResultsHandle,
        _ fields: [ProjectionShape.Field]
    ) throws {
        self.fields = fields
        if let before = change.versionBefore {
            for (index, reference) in change.modifiedObjects.enumerated() {
                guard let old = ObjectSource.frozen(before).object(reference),
                    let new = results.base.results.source.object(reference)
                else { continue }
                let values = try fields.map {
                    (try $0.value(of: old), try $0.value(of: new))
                }
                guard values.contains(where: { $0.0 != $0.1 }) else { continue }
                rows.append(
                    Row(
                        index: index, reference: reference, old: values.map(\.0),
                        new: values.map(\.1)))
            }
        }
        switch change.kind {
        case .update:
            isSilent =
                change.isCollectionValid && rows.isEmpty && change.deletions.isEmpty
                && change.insertions.isEmpty
        case .initial, .error: isSilent = false
        }
    }

    /// Returns the indexes of rows in a list of indexes of all modifications.
    func positions(_ all: [Int]) -> [Int] { rows.map { all[$0.index] } }
}

/// Writes projections to a file: one row for each, with the projected names as columns.
struct ProjectionExport {
    private let results: ProjectedResultsHandle

    init(_ results: ProjectedResultsHandle) { self.results = results }

    /// Implements `projections:export(path [, format])`; returns the number of rows.
    func write(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let path = try call.path(2, for: .writing)
        let name = call.isNil(3) ? nil : try call.text(3)
        let format = try name.map { try TransferFormat(name: $0) } ?? TransferFormat(path: path)
        guard [.jsonLines, .json, .csv].contains(format) else {
            throw StoreError(
                .invalidArgument,
                "projections are exported as jsonl, json or csv; export their objects with root():export"
            )
        }
        let count = try TransferError.wrapping {
            try StoreFiles.requireNoStore(path)
            let file = try FileWriter(path)
            let count = try write(format, to: file)
            try file.finish()
            return count
        }
        return call.answer(.integer(Int64(count)))
    }

    /// Writes the rows one by one, and returns their number.
    private func write(_ format: TransferFormat, to file: FileWriter) throws -> Int {
        let state = results.handle.state
        var count = 0
        var csv = CSVWriter()
        switch format {
        case .csv:
            for name in results.names { csv.field(name) }
            csv.endRecord()
            try file.write(csv.bytes)
        case .json: try file.write("[")
        default: break
        }
        try results.forEachTable { row in
            try state.checkStopping()
            switch format {
            case .csv:
                csv.removeAll()
                for name in results.names { csv.field(try field(row[name])) }
                csv.endRecord()
                try file.write(csv.bytes)
            case .json:
                try file.write(count == 0 ? "\n  " : ",\n  ")
                try file.write(json(.table(row)))
            default: try file.write(json(.table(row)) + "\n".utf8)
            }
            count += 1
        }
        if format == .json { try file.write("\n]\n") }
        return count
    }

    private func json(_ value: LuaValue) throws -> [UInt8] {
        try results.handle.module.json(of: value)
    }

    private func field(_ value: LuaValue) throws -> String? {
        switch value {
        case .nil: return nil
        case .string(let text): return text.description
        default:
            let text = String(decoding: try json(value), as: UTF8.self)
            // Dates and identifiers are strings in JSON.
            return text.hasPrefix("\"") && text.hasSuffix("\"")
                ? String(text.dropFirst().dropLast()) : text
        }
    }
}
