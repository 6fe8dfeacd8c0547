import DataFormats
import ObjectStore

/// Takes rows of files into a store.
///
/// Rows may link to objects that come later in the file: such an object is made when it is first named and filled when
/// its row comes. What is linked to and never comes is an error. All or nothing, unless the options say otherwise.
/// Memory does not grow with the file, but for the links to objects that have not come yet. Confined to the thread of
/// the store.
package final class Importer {
    let store: Store
    let options: ImportOptions
    private let progress: TransferProgress?
    private(set) var report = ImportReport()
    private var rejects: RejectFile?
    var links: LinkTable
    private var fieldTables: [String: FieldTable] = [:]
    /// The fields of the class that the last row was of.
    private(set) var lastFields: FieldTable?
    private var rowsInBatch = 0
    private var rows = 0
    private var part: () -> Double? = { nil }
    private var inserter: ObjectInserter?

    /// Prepares an import.
    ///
    /// `progress` is called now and then; what it throws ends the import.
    package init(
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
    /// Throws `FormatError` with file and line of a bad row, and what writing to the store or `progress` throws; nothing has
    /// been imported then, but for batches that were committed before.
    package func read(_ path: String, as format: TransferFormat) throws -> ImportReport {
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
        let source = try makeSource(path, format)
        part = { source.part }
        if !isNested { try store.beginWrite() }
        do {
            try progress?(0, 0)
            try defineClasses(source, isNested: isNested)
            try source.read(into: self)
            report.notes = source.notes
            try settleLinks(isNested: isNested)
            if !isNested { try finishWrite() }
            try rejects?.finish()
        } catch {
            if !isNested, store.isInWrite { try store.cancelWrite() }
            throw (error as? FormatError)?.inFile(path) ?? error
        }
        try progress?(rows, 1)
        return report
    }

    /// Deals with links to what never came: all or nothing gives up, else the links are left out and told.
    private func settleLinks(isNested: Bool) throws {
        let missing = links.missing
        guard let first = missing.first else { return }
        let more = missing.count > 1 ? " (and \(missing.count - 1) more)" : ""
        let fault = first.place.fault(first.reason + more)
        guard rejects != nil || options.batch != nil else { throw fault }
        for link in missing { try links.delete(link.object) }
        guard rejects != nil else {
            // The batches before stay; what is nobody's does not.
            if !isNested { try finishWrite() }
            throw fault
        }
        for link in missing {
            try reject(link.place, link.reason + "; the link was left out", row: "")
        }
    }

    private func finishWrite() throws {
        if options.isDryRun { try store.cancelWrite() } else { try store.commitWrite() }
    }

    private func makeSource(_ path: String, _ format: TransferFormat) throws -> any RowSource {
        switch format {
        case .sqlite: return try SQLiteSource(path, options)
        case .realm: return try RealmSource(path, options)
        case .jsonLines, .json, .csv, .lua: return try TextSource(path, format, options)
        }
    }

    /// Creates the classes that the file describes or that its first rows show, in the transaction of the rows.
    private func defineClasses(_ source: any RowSource, isNested: Bool) throws {
        let known = store.view.schema
        let new = try source.classes(besides: known).filter { known.find($0.name) == nil }
        report.notes = source.notes
        guard !new.isEmpty else { return }
        if isNested {
            throw StoreError(
                .unknownClass,
                "'\(new[0].name)' is not a class, and cannot be created in a write "
                    + "transaction; import outside of a transaction, or define the class first")
        }
        try store.defineInWrite(
            new, version: known.classes.isEmpty ? source.schemaVersion() : nil)
        report.newClasses = new.map(\.name)
        report.newSchema = new
    }

    // MARK: - Rows

    /// How the fields of a class's rows are read.
    func fields(of className: String) throws -> FieldTable {
        if let last = lastFields, last.classSchema.name == className { return last }
        let table =
            try fieldTables[className]
            ?? FieldTable(try store.view.schema.require(className), renaming: options.names)
        fieldTables[className] = table
        lastFields = table
        return table
    }

    /// What a row turned out to be.
    enum Row {
        /// No row, such as a line with the schema.
        case none
        /// The values of an object that is to be stored.
        case values(DecodedRow)
        /// Stored already, through ``directInserter(of:)``.
        case stored
        /// Stored already in the object that had its primary key.
        case updated
    }

    /// Takes one row: `decode` makes its values; `place` and `text` are for the report of a bad one.
    func take(_ place: RowPlace, text: () -> String, decode: () throws -> Row) throws {
        try attempt(place, text: text) {
            switch try decode() {
            case .none: return false
            case .values(let row): try store(row)
            case .stored: report.created += 1
            case .updated: report.updated += 1
            }
            return true
        }
    }

    /// Does what belongs to rows that were taken before: fills their collections, for example.
    func complete(_ place: RowPlace, text: () -> String, _ work: () throws -> Void) throws {
        try attempt(place, text: text) {
            try work()
            return true
        }
    }

    private func attempt(
        _ place: RowPlace, text: () -> String, _ work: () throws -> Bool
    ) throws {
        links.startRow()
        do {
            guard try work() else { return }
        } catch let error where isRowFault(error) {
            let reason = Self.reason(error)
            guard rejects != nil else { throw place.fault(reason) }
            try links.abandonRow()
            report.rejected += 1
            try reject(place, reason, row: text())
        }
        rows += 1
        if rows % 4096 == 0 { try progress?(rows, part()) }
        try endBatch()
    }

    private func reject(_ place: RowPlace, _ reason: String, row: String) throws {
        if report.reasons.count < 10 { report.reasons.append("\(place.description): \(reason)") }
        try rejects?.add(place, reason: reason, row: row)
    }

    /// The value of a link to the object with this primary key, which may come later.
    func link(to key: Value, of target: ClassSchema, _ place: RowPlace) throws -> Value {
        try links.object(key, target, place)
    }

    /// The value of a link to the object that bore this number in the file.
    func link(toNumber number: Int64, of target: ClassSchema, _ place: RowPlace) throws -> Value {
        try links.object(number: number, target, place)
    }

    /// The object with this primary key, or with this number in the file where its class has none; nil if there is no
    /// such object.
    func find(_ key: Value, of classSchema: ClassSchema) throws -> LiveObject? {
        if classSchema.primaryKey != nil {
            return try store.object(classSchema.name, primaryKey: key)
        }
        guard case .int(let number) = key else { return nil }
        return links.object(numbered: number, classSchema).flatMap(store.object)
    }

    /// The quick way to create objects of a class; nil while rows need more than to be stored.
    ///
    /// That is, while they may update objects, or fill those that were made for who links to them.
    func directInserter(of classSchema: ClassSchema) throws -> ObjectInserter? {
        guard !options.isUpsert, links.isSettled else { return nil }
        if let inserter, inserter.classSchema === classSchema, inserter.isUsable { return inserter }
        let made = try store.inserter(of: classSchema)
        inserter = made
        return made
    }

    /// Stores the values of a row: in the object that was made for who linked to it, in a new one, or in the one to update.
    func store(_ row: DecodedRow) throws {
        let classSchema = row.classSchema
        if let key = try links.claim(row) {
            // Made before, for who linked to it: now its values come.
            let object = ObjectSource.store(store).object(classSchema, key)
            try store.update(object, row.valuesByName)
            report.created += 1
            return
        }
        let exists = options.isUpsert && row.primaryKey.map { store.find($0, classSchema) } ?? false
        // A class without a primary key has nothing to update, but the objects nested in its rows may.
        let nestedMode: UpdateMode = options.isUpsert ? .modified : .error
        let key: ObjectKey
        do {
            key = try store.create(
                classSchema, positional: row.values,
                mode: classSchema.primaryKey == nil ? .error : nestedMode, nestedMode: nestedMode)
        } catch let error as StoreError where error.code == .duplicateKey {
            // Nothing of the row is stored now, so an object with its key is an earlier one.
            if let key = row.primaryKey, store.find(key, classSchema) {
                throw Self.duplicate(key, classSchema)
            }
            throw Self.nestedDuplicate(error)
        }
        if exists { report.updated += 1 } else { report.created += 1 }
        if let number = row.number { links.note(number, classSchema, key) }
    }

    /// The error of a row whose object exists already.
    static func duplicate(_ key: Value?, _ classSchema: ClassSchema) -> StoreError {
        StoreError(
            .duplicateKey,
            "'\(classSchema.name)' has an object with the primary key "
                + "\(key?.summary ?? "of the row") already; import with upsert to update it")
    }

    /// The error of a row in which a nested value describes an object that exists already.
    private static func nestedDuplicate(_ error: StoreError) -> StoreError {
        let fault = error.message.prefix { $0 != ";" }
        return StoreError(.duplicateKey, "\(fault); import with upsert to update it")
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
