import DataFormats
import ObjectStore

/// Takes rows of files into a store.
///
/// Rows may link to objects that come later in the file: such an object is made when it is first named and filled when
/// its row comes. What is linked to and never comes is an error. All or nothing, unless the options say otherwise.
/// Memory does not grow with the file, but for the links to objects that have not come yet. Confined to the thread of
/// the store.
public final class Importer {
    let store: Store
    let options: ImportOptions
    private let progress: TransferProgress?
    private(set) var report = ImportReport()
    private var rejects: RejectFile?
    private var links: LinkTable
    private var fieldTables: [String: FieldTable] = [:]
    private var rowsInBatch = 0
    private var rows = 0
    private var part: () -> Double? = { nil }

    /// Prepares an import.
    ///
    /// `progress` is called now and then.
    public init(
        into store: Store, _ options: ImportOptions = ImportOptions(),
        progress: TransferProgress? = nil
    ) {
        self.store = store
        self.options = options
        self.progress = progress
        links = LinkTable(store)
    }

    /// Imports a file; `-` is standard input.
    ///
    /// Throws `FormatError` with the line of a bad row, and what writing to the store throws; nothing has been imported
    /// then, but for batches that were committed before.
    public func read(_ path: String, as format: TransferFormat) throws -> ImportReport {
        if let batch = options.batch, batch < 1 {
            throw StoreError(.invalidArgument, "a batch has at least one row, got \(batch)")
        }
        if let path = options.rejects { rejects = try RejectFile(path) }
        let isNested = store.isInWrite
        guard !isNested || options.batch == nil && !options.isDryRun else {
            throw StoreError(
                .alreadyInWrite,
                "batches and dry runs need write transactions of their own; import outside of one")
        }
        try prepareClasses(path, format)
        if !isNested { try store.beginWrite() }
        do {
            try readRows(path, format)
            try settleLinks(isNested: isNested)
            if !isNested { try finishWrite() }
            try rejects?.finish()
        } catch {
            if !isNested, store.isInWrite { try store.cancelWrite() }
            throw error
        }
        progress?(rows, 1)
        return report
    }

    /// Deals with links to what never came: all or nothing gives up, else the links are left out and told.
    private func settleLinks(isNested: Bool) throws {
        let missing = links.missing
        guard let first = missing.first else { return }
        let more = missing.count > 1 ? " (and \(missing.count - 1) more such links)" : ""
        let fault = FormatError(line: first.line, first.reason + more)
        guard rejects != nil || options.batch != nil else { throw fault }
        for link in missing { try links.delete(link.object) }
        guard rejects != nil else {
            // The batches before stay; what is nobody's does not.
            if !isNested { try finishWrite() }
            throw fault
        }
        for link in missing {
            try reject(link.line, link.reason + "; the link was left out", row: "")
        }
    }

    private func finishWrite() throws {
        if options.isDryRun { try store.cancelWrite() } else { try store.commitWrite() }
    }

    private func readRows(_ path: String, _ format: TransferFormat) throws {
        let file = try FileReader(path)
        part = { file.size.flatMap { $0 > 0 ? Double(file.position) / Double($0) : nil } }
        switch format {
        case .jsonLines: try JSONLinesSource(file).read(into: self)
        case .json: try JSONSource(file).read(into: self)
        case .csv: try CSVSource(file).read(into: self)
        }
    }

    /// Creates the classes that the file describes or that its first rows show.
    private func prepareClasses(_ path: String, _ format: TransferFormat) throws {
        let known = store.view.schema
        if let name = options.className, known.find(name) != nil { return }
        let found = try ClassInference.classes(in: path, format, options)
        let new = found.filter { known.find($0.name) == nil }
        guard !new.isEmpty else { return }
        if store.isInWrite {
            throw StoreError(
                .unknownClass,
                "'\(new[0].name)' is no class yet, and cannot become one inside a write "
                    + "transaction; import outside of one, or define it first")
        }
        try store.define(new)
        report.newClasses = new.map(\.name)
    }

    // MARK: - Rows

    /// How the fields of a class's rows are read.
    func fields(of className: String) throws -> FieldTable {
        if let known = fieldTables[className] { return known }
        let table = FieldTable(
            try store.view.schema.require(className), renaming: options.names)
        fieldTables[className] = table
        return table
    }

    /// Takes one row: `decode` makes its values, or nil for what is no row; `line` and `text` are for the report of a bad
    /// one.
    func take(line: Int, text: () -> String, decode: () throws -> DecodedRow?) throws {
        links.startRow()
        do {
            guard let row = try decode() else { return }
            try store(row)
        } catch let error where isRowFault(error) {
            let reason = Self.reason(error)
            guard rejects != nil else { throw FormatError(line: line, reason) }
            try links.abandonRow()
            report.rejected += 1
            try reject(line, reason, row: text())
        }
        rows += 1
        if rows % 4096 == 0 { progress?(rows, part()) }
        try endBatch()
    }

    private func reject(_ line: Int, _ reason: String, row: String) throws {
        if report.reasons.count < 10 { report.reasons.append("line \(line): \(reason)") }
        try rejects?.add(line: line, reason: reason, row: row)
    }

    /// The value of a link to the object with this primary key, which may come later.
    func link(to key: Value, of target: ClassSchema, line: Int) throws -> Value {
        try links.object(key, target, line)
    }

    /// The value of a link to the object that bore this number in the file.
    func link(toNumber number: Int64, of target: ClassSchema, line: Int) throws -> Value {
        try links.object(number: number, target, line)
    }

    private func store(_ row: DecodedRow) throws {
        let classSchema = row.classSchema
        if let key = try links.claim(row) {
            // Made before, for who linked to it: now its values come.
            let object = ObjectSource.store(store).object(classSchema, key)
            try store.update(object, row.valuesByName)
            report.created += 1
            return
        }
        let exists = options.isUpsert && row.primaryKey.map { store.find($0, classSchema) } ?? false
        let key: ObjectKey
        do {
            key = try store.create(
                classSchema, positional: row.values, mode: exists ? .modified : .error)
        } catch let error as StoreError where error.code == .duplicateKey {
            let shown = row.primaryKey?.summary ?? "its key"
            throw StoreError(
                .duplicateKey,
                "'\(classSchema.name)' has an object with the primary key \(shown) already; import "
                    + "with upsert to update it")
        }
        if exists { report.updated += 1 } else { report.created += 1 }
        if let number = row.number { links.note(number, classSchema, key) }
    }

    private func endBatch() throws {
        guard let batch = options.batch, !options.isDryRun else { return }
        rowsInBatch += 1
        guard rowsInBatch >= batch else { return }
        rowsInBatch = 0
        try store.commitWrite()
        try store.beginWrite()
    }

    /// Whether an error is the row's fault: what befalls the store itself ends the import in any case.
    private func isRowFault(_ error: any Error) -> Bool {
        if error is FormatError { return true }
        guard let error = error as? StoreError else { return false }
        let faults: [StoreError.Code] = [
            .duplicateKey, .missingValue, .typeMismatch, .unknownClass, .unknownProperty,
            .invalidArgument, .invalidObject, .outOfRange,
        ]
        return faults.contains(error.code)
    }

    private static func reason(_ error: any Error) -> String {
        if let error = error as? FormatError { return error.reason }
        return (error as? StoreError)?.message ?? "\(error)"
    }
}

extension Store {
    /// Whether an object has this primary key.
    fileprivate func find(_ key: Value, _ classSchema: ClassSchema) -> Bool {
        (try? object(classSchema.name, primaryKey: key)) != nil
    }
}
