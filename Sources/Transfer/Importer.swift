import DataFormats
import ObjectStore

/// Imports rows of files into a store.
///
/// Rows can link to objects that come later in the file: such an object is created when a row links to it, and receives
/// its values when its own row is read. A link to an object without a row is an error. The import is one transaction
/// unless the options change that. The rows are read in constant memory; changes of the transaction, and links to
/// objects whose rows have not been read, take additional memory. Confined to the thread of the store.
package final class Importer {
    package let store: Store
    package private(set) var options: ImportOptions
    private let progress: TransferProgress?
    private(set) var report = ImportReport()
    /// Returns the line and the column of values in the current row, for messages.
    var locator: (any RowReader)?
    private var renames: [String: [String: String]] = [:]
    /// The fields in `options.names` that the file has not had so far.
    private var unusedNames: Set<String> = []
    private var hasUsedClass = false
    private var rejects: RejectFile?
    var links: LinkTable
    private var fieldTables: [String: FieldTable] = [:]
    /// The fields of the class of the previous row.
    private(set) var lastFields: FieldTable?
    private var rowsInBatch = 0
    /// The number of rows in committed batches, and the location of the last one.
    private var committed: (rows: Int, last: RowLocation)?
    private var rows = 0
    private var lastLocation: RowLocation?
    private var part: () -> Double? = { nil }
    private var inserter: ObjectInserter?

    /// Creates an importer.
    ///
    /// `progress` is called periodically; an error that it throws ends the import.
    package init(
        into store: Store, _ options: ImportOptions = ImportOptions(),
        progress: TransferProgress? = nil
    ) {
        self.store = store
        self.options = options
        self.progress = progress
        links = LinkTable(store)
        unusedNames = Set(options.names.keys)
    }

    /// Imports a file; `-` is standard input.
    ///
    /// Throws a `FormatError` with the file and the line of an invalid row, the errors of writing to the store, and the
    /// errors of `progress`. After an error, no objects have been imported, except for batches that were already
    /// committed.
    package func read(_ path: String, as format: TransferFormat) throws -> ImportReport {
        try options.check(for: format)
        if let path = options.rejects { rejects = try RejectFile(path) }
        let isNested = store.isInWrite
        guard !isNested || options.batch == nil && !options.isDryRun else {
            throw StoreError(
                .alreadyInWrite,
                "batches and dry runs need their own write transactions; import outside of one")
        }
        let source = try makeSource(path, format)
        part = { source.part }
        if !isNested { try store.beginWrite() }
        do {
            try progress?(0, 0)
            try defineClasses(source, isNested: isNested)
            try source.read(into: self)
            if rows > 0 { try checkUse() }
            report.notes = source.notes
            try settleLinks(isNested: isNested)
            if !isNested { try finishWrite() }
            try rejects?.finish()
        } catch {
            if !isNested, store.isInWrite { try store.cancelWrite() }
            let error = notingCommittedRows(error)
            throw format.isDatabase ? error : (error as? FormatError)?.inFile(path) ?? error
        }
        try progress?(rows, 1)
        return report
    }

    /// Returns an error that also reports the rows of batches that were committed before it.
    private func notingCommittedRows(_ error: any Error) -> any Error {
        guard let committed else { return error }
        let note =
            "; \(committed.rows) rows are committed, up to \(committed.last.description): import the rows after it"
        switch error {
        case var error as FormatError:
            error.reason += note
            return error
        case let error as StoreError: return StoreError(error.code, error.message + note)
        default: return error
        }
    }

    /// Handles links to objects without a row: the import fails or, if there is a file for invalid records, the links
    /// are omitted and reported.
    private func settleLinks(isNested: Bool) throws {
        let missing = try links.missing
        guard let first = missing.first else { return }
        let more = missing.count > 1 ? " (and \(missing.count - 1) more)" : ""
        let fault = first.location.fault(first.reason + more)
        guard rejects != nil || options.batch != nil else { throw fault }
        for link in missing { try links.delete(link.object) }
        guard rejects != nil else {
            // Earlier batches are kept; unresolved links are not committed.
            if !isNested { try finishWrite() }
            if let lastLocation { committed = (report.rows, lastLocation) }
            throw fault
        }
        for link in missing {
            let fault = link.location.fault(link.reason + "; the link was skipped")
            try reject(link.location, fault, record: nil)
        }
    }

    private func finishWrite() throws {
        if options.isDryRun { try store.cancelWrite() } else { try store.commitWrite() }
    }

    private func makeSource(_ path: String, _ format: TransferFormat) throws -> any RowSource {
        if format == .sqlite || format == .realm {
            let name = format == .sqlite ? "a SQLite database" : "a Realm file"
            guard path != "-", !FileReader.isPipe(path) else {
                throw StoreError(
                    .invalidArgument, "\(name) cannot be read from a pipe; name a file")
            }
            guard !Compression.isCompressed(path) else {
                throw StoreError(
                    .invalidArgument,
                    "\(name) cannot be read compressed; decompress '\(path)' first")
            }
            if let kind = FileKind(file: path), kind != (format == .sqlite ? .sqlite : .realm) {
                throw FormatError("'\(path)' \(kind.advice)")
            }
        }
        switch format {
        case .sqlite: return try RelationalSource(SQLiteOrigin(path, options), options)
        case .realm: return try RowFormats.realm.required().source(path, options)
        case .postgres: return try RowFormats.postgres.required().source(path, options)
        case .tsv:
            options.csv.separator = options.csv.separator ?? "\t"
            return try TextSource(path, format, options)
        default: return try TextSource(path, format, options)
        }
    }

    /// Creates the classes that the file describes, or that are inferred from its rows, in the same transaction as the
    /// rows.
    private func defineClasses(_ source: any RowSource, isNested: Bool) throws {
        let known = store.view.schema
        let found = try source.classes(besides: known)
        renames = found.renames
        let new = found.classes.filter { known.find($0.name) == nil }
        report.notes = source.notes
        try checkTypes(new, known)
        if let fields = source.fields {
            fields.forEach(recordField)
            try checkFields(among: fields)
        }
        guard !new.isEmpty else {
            guard !options.isAllText, options.sample == nil else {
                throw StoreError(
                    .invalidArgument,
                    "the option '\(options.isAllText ? "all-text" : "sample")' has no effect on existing classes"
                )
            }
            return
        }
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

    /// Throws `invalid_argument` if the options specify types or links of fields that do not exist, or that have other
    /// types in the file's schema or in the store.
    private func checkTypes(_ new: [ClassSchema], _ known: Schema) throws {
        let given =
            options.types.map { ($0, $1, "type") } + options.links.map { ($0, $1, "link") }
        let name = options.className
        let classes = new + known.classes.filter { name == nil || $0.name == name }
        for (field, text, kind) in given.sorted(by: { $0.0 < $1.0 }) {
            let wanted = options.names[field] ?? field
            let names = [wanted] + classes.compactMap { renames[$0.name]?[field] }
            let found = classes.compactMap { classSchema in
                names.lazy.compactMap(classSchema.property(named:)).first
                    ?? classSchema.property(named: SchemaNames.property(field))
            }
            guard let property = found.first else {
                let known = classes.flatMap(\.properties).map(\.name)
                throw StoreError(
                    .invalidArgument,
                    "a \(kind) is specified for '\(field)', which is not in the file"
                        + NearestName.hint(for: field, among: known))
            }
            let given = try PropertySyntax.parse(
                name: property.name, in: name ?? classes[0].name, text)
            if found.contains(where: { $0.type == given.type && $0.target == given.target }) {
                continue
            }
            throw StoreError(
                .invalidArgument,
                "'\(field)' has the type \(text) in the options, but "
                    + "\(property.typeName) in the \(new.isEmpty ? "store" : "file's schema")")
        }
    }

    /// Returns the class in the options for a row that does not name its class; nil if the options have none.
    func useGivenClass() -> String? {
        hasUsedClass = true
        return options.className
    }

    /// Throws `invalid_argument` if the rows did not use the class or the names of fields in the options.
    private func checkUse() throws {
        if let given = options.className, !hasUsedClass,
            let other = fieldTables.keys.filter({ $0 != given }).min()
        {
            throw StoreError(
                .invalidArgument,
                "the option 'class' has no effect, because the rows of the file name classes such as '\(other)'"
            )
        }
        try checkFields(among: lastFields?.classSchema.properties.map(\.name) ?? [])
    }

    /// Registers a field of the file that the options can map to a property.
    func recordField(_ name: String) { unusedNames.remove(name) }

    /// Throws `invalid_argument` if the options map a field that the file does not have; `known` are names for the
    /// message.
    func checkFields(among known: [String]) throws {
        guard let name = unusedNames.min() else { return }
        throw StoreError(
            .invalidArgument,
            "the option 'map' names '\(name)', which is not in the file"
                + NearestName.hint(for: name, among: known))
    }

    /// Whether this import created a class.
    func hasNewClass(_ name: String) -> Bool { report.newClasses.contains(name) }

    // MARK: - Rows

    /// Returns the mapping of fields to properties for the rows of a class.
    func fields(of className: String) throws -> FieldTable {
        if let last = lastFields, last.classSchema.name == className { return last }
        let table = try fieldTables[className] ?? makeFields(of: className)
        fieldTables[className] = table
        lastFields = table
        return table
    }

    private func makeFields(of className: String) throws -> FieldTable {
        let classSchema = try store.view.schema.require(className)
        try requireKeyForUpsert(classSchema)
        return try FieldTable(
            classSchema, renaming: options.names, inferred: renames[className] ?? [:]
        ) { [weak self] in self?.recordField($0) }
    }

    /// Throws `invalid_argument` for an upsert into a class without a primary key, which would duplicate the objects.
    package func requireKeyForUpsert(_ classSchema: ClassSchema) throws {
        guard options.isUpsert, classSchema.primaryKey == nil, !classSchema.isEmbedded else {
            return
        }
        throw StoreError(
            .invalidArgument,
            "'\(classSchema.name)' has no primary key, so an upsert cannot find the objects to update; "
                + "import without upsert"
                + (isInferred(classSchema)
                    ? ", or specify a key with --types 'NAME=TYPE primary'" : ""))
    }

    /// The result of decoding a row.
    package enum Row {
        /// A line without a row, such as the schema.
        case none
        /// The values of an object to store.
        case values(DecodedRow)
        /// A row that was already stored by the inserter of its class.
        case stored
        /// A row whose values were already written to the existing object with the same primary key.
        case updated
    }

    /// Imports one row.
    ///
    /// `decode` returns its values; `location` and `record` describe an invalid row in the report.
    package func take(_ location: RowLocation, record: () -> [UInt8], decode: () throws -> Row)
        throws
    {
        try attempt(location, isRow: true, record: record) {
            switch try decode() {
            case .none: return false
            case .values(let row): try store(row)
            case .stored: report.created += 1
            case .updated: report.updated += 1
            }
            return true
        }
    }

    /// Completes rows that were imported earlier, for example by filling their collections.
    package func complete(_ location: RowLocation, record: () -> [UInt8], _ work: () throws -> Void)
        throws
    {
        try attempt(location, isRow: false, record: record) {
            try work()
            return true
        }
    }

    /// Sets the format of the file with invalid records.
    func setRejectForm(_ form: (_ path: String) -> RejectFile.Form) {
        guard let rejects else { return }
        rejects.form = form(rejects.path)
    }

    private func attempt(
        _ location: RowLocation, isRow: Bool, record: () -> [UInt8], _ work: () throws -> Bool
    ) throws {
        links.startRow()
        let before = report
        do {
            guard try work() else { return }
        } catch let error where isRowFault(error) {
            let fault = location.fault(error, locator)
            guard rejects != nil else { throw fault }
            try links.abandonRow()
            report = before
            report.rejected += 1
            try reject(location, fault, record: record())
        }
        rows += 1
        if isRow { report.rows += 1 }
        lastLocation = location
        if rows % 4096 == 0 { try progress?(rows, part()) }
        try endBatch()
    }

    private func reject(_ location: RowLocation, _ fault: FormatError, record: [UInt8]?) throws {
        if report.reasons.count < 10 { report.reasons.append(fault.description) }
        var reason = fault
        if location.table != nil, fault.line == nil {
            // The message contains the line number separately.
            reason.reason.trimPrefix("\(location.description): ")
        }
        try rejects?.add(location, reason: reason, record: record)
    }

    // MARK: Values

    /// Converts a text to a value of a type, rounded if the options permit it; returns nil if the type cannot represent
    /// it.
    func value(_ text: String, as type: PropertyType) -> Value? {
        ValueText.value(text, as: type) ?? rounded(text, as: type)
    }

    /// Returns the nearest value to a text with too many digits, if the options permit rounding, and counts it as
    /// changed.
    func rounded(_ text: String, as type: PropertyType) -> Value? {
        guard options.isRounding, let value = ValueText.rounded(text, as: type) else { return nil }
        changeCount += 1
        return value
    }

    /// The number of values that were changed by conversion.
    var changeCount: Int {
        get { report.changed }
        set { report.changed = newValue }
    }

    /// Returns the error for a value that a property cannot store; `text` is the value if it is a number or a text.
    func mismatch(
        _ property: Property, _ classSchema: ClassSchema, got description: String, _ text: String?
    ) -> StoreError {
        let isTooLong = text.flatMap { ValueText.rounded($0, as: property.type) } != nil
        return StoreError(
            .typeMismatch,
            "'\(classSchema.name).\(property.name)' expects \(property.typeName), got \(description)"
                + (isTooLong ? ", which does not fit exactly; --round uses the nearest value" : "")
        )
    }

    /// Returns a link to the object with this primary key, whose row can come later.
    func link(to key: Value, of target: ClassSchema, _ location: RowLocation) throws -> Value {
        try links.object(key, target, location)
    }

    /// Returns a link to the object with this number in the file.
    func link(toNumber number: Int64, of target: ClassSchema, _ location: RowLocation) throws
        -> Value
    {
        try links.object(number: number, target, location)
    }

    /// Returns the object with this primary key, or with this number in the file if its class has no primary key; nil
    /// if the object does not exist.
    func find(_ key: Value, of classSchema: ClassSchema) throws -> LiveObject? {
        if classSchema.primaryKey != nil {
            return try store.object(classSchema.name, primaryKey: key)
        }
        guard case .int(let number) = key else { return nil }
        return links.object(numbered: number, classSchema).flatMap(store.object)
    }

    /// Returns the fast path for creating objects of a class; nil if rows need more than an insertion.
    ///
    /// Rows need more if they can update objects, or give values to objects that were created for links, and if they are
    /// checked one by one for the rules of their class.
    func directInserter(of classSchema: ClassSchema) throws -> ObjectInserter? {
        guard !options.isUpsert, links.isSettled else { return nil }
        if let rules = try fields(of: classSchema.name).rules,
            rules.hasValueRules || rejects != nil
        {
            return nil
        }
        if let inserter, inserter.classSchema === classSchema, inserter.isUsable { return inserter }
        let new = try store.inserter(of: classSchema)
        inserter = new
        return new
    }

    /// Stores the values of a row: in the object that was created for links to it, in a new object, or in the object to
    /// update.
    func store(_ row: DecodedRow) throws {
        let classSchema = row.classSchema
        let nested = try checkNested(row)
        let awaited = links.awaited(row)
        let existing =
            try awaited?.key
            ?? (options.isUpsert ? row.primaryKey : nil).flatMap {
                try find($0, of: classSchema)?.key
            }
        if let rules = try fields(of: classSchema.name).rules {
            try rules.check(row.values)
            // Without a file for invalid rows, a later row can end the duplicate.
            if rejects != nil { try rules.checkUnique(row.values, of: existing, in: store) }
        }
        if let awaited {
            // The object was created earlier for links to it; now its values are known.
            for (property, value) in zip(classSchema.properties, row.values) where value == nil {
                try store.requireDefault(property, classSchema)
            }
            let object = ObjectSource.store(store).object(classSchema, awaited.key)
            try store.update(object, row.valuesByName)
            // If the row is rejected, the object still awaits another one.
            links.settle(awaited)
            recordStored(1, nested)
            return
        }
        let exists = existing != nil
        let nestedMode: UpdateMode =
            options.isUpsert || !options.links.isEmpty ? .modified : .error
        let key: ObjectKey
        do {
            key = try store.create(
                classSchema, positional: row.values,
                mode: options.isUpsert ? .modified : .error,
                nestedMode: nestedMode)
        } catch let error as StoreError where error.code == .duplicateKey {
            // The row has not been stored, so an object with its key existed before.
            if let key = row.primaryKey, try find(key, of: classSchema) != nil {
                throw duplicate(key, classSchema)
            }
            throw Self.nestedDuplicate(error)
        }
        if exists { report.updated += 1 }
        recordStored(exists ? 0 : 1, nested)
        if let number = row.number { links.record(number, classSchema, key) }
    }

    /// Checks the objects that nested values describe; returns nil for a row without nested values.
    private func checkNested(_ row: DecodedRow) throws -> NestedObjects? {
        let hasNested = zip(row.classSchema.properties, row.values).contains { property, value in
            switch value {
            case .dictionary?, .list?: property.type == .object
            default: false
            }
        }
        guard hasNested else { return nil }
        var nested = NestedObjects(
            store, isUpsert: options.isUpsert, allowsRepetition: !options.links.isEmpty)
        try nested.check(row, isAwaited: links.isAwaited)
        return nested
    }

    private func recordStored(_ created: Int, _ nested: NestedObjects?) {
        report.created += created
        guard let nested else { return }
        if !options.links.isEmpty { report.created += nested.new }
        for object in nested.described { links.settle(object) }
    }

    /// Returns the error for a row whose object already exists.
    package func duplicate(_ key: Value?, _ classSchema: ClassSchema) -> StoreError {
        let pair = classSchema.primaryKey.map { "\($0.name)=\($0.type.rawValue)" } ?? ""
        let remedy =
            isInferred(classSchema)
            ? "; import with upsert to update it, or with --types \(pair) if the values do not identify objects"
            : "; import with upsert to update it"
        return StoreError(
            .duplicateKey,
            "'\(classSchema.name)' already has an object with the primary key "
                + (key?.summary ?? "of the row") + remedy)
    }

    /// Returns whether the import created a class whose types the options can specify.
    private func isInferred(_ classSchema: ClassSchema) -> Bool {
        hasNewClass(classSchema.name) && renames[classSchema.name] != nil
    }

    /// Returns the error for a row in which a nested value describes an object that already exists.
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
        if let lastLocation { committed = (report.rows, lastLocation) }
        try store.beginWrite()
    }

    /// Returns whether an error is caused by the row.
    ///
    /// Errors of the store itself always end the import.
    private func isRowFault(_ error: any Error) -> Bool {
        if error is FormatError || error is ValueFault { return true }
        guard let error = error as? StoreError else { return false }
        let faults: [StoreError.Code] = [
            .duplicateKey, .missingValue, .typeMismatch, .unknownClass, .unknownProperty,
            .invalidArgument, .invalidObject, .invalidValue, .outOfRange,
        ]
        return faults.contains(error.code)
    }
}
