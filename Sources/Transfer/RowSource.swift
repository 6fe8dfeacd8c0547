import DataFormats
import ObjectStore

/// The rows of an opened file.
protocol RowSource: AnyObject {
    /// Notes about data that was converted or omitted because a store has no equivalent.
    var notes: [String] { get }
    /// The completed fraction of the work, from 0 to 1; nil if it is unknown.
    var part: Double? { get }
    /// Returns the classes of the rows, from the description in the file or inferred from the rows, and the known
    /// classes.
    func classes(besides known: Schema) throws -> ClassInference.Result
    /// The fields of the rows that the options can map to properties, also as `table.column`; nil until the rows are read.
    var fields: [String]? { get }
    /// Returns the schema version in the file; nil if the file does not contain one.
    func schemaVersion() throws -> UInt64?
    /// Passes all rows to an importer.
    func read(into importer: Importer) throws
}

extension RowSource {
    var fields: [String]? { nil }
    func schemaVersion() throws -> UInt64? { nil }
}

/// The rows of a file that is read sequentially.
final class TextSource: RowSource {
    private(set) var notes: [String] = []
    private let format: TransferFormat
    private let options: ImportOptions
    private let file: FileReader

    /// Opens the file.
    init(_ path: String, _ format: TransferFormat, _ options: ImportOptions) throws {
        self.format = format
        self.options = options
        file = try FileReader(path, encoding: options.encoding)
    }

    var part: Double? {
        file.size.flatMap { $0 > 0 ? Double(file.position) / Double($0) : nil }
    }

    func classes(besides known: Schema) throws -> ClassInference.Result {
        if let name = options.className, known.find(name) != nil, !makesLinkedClass(known) {
            return ClassInference.Result()
        }
        file.keepForRewinding()
        let readsRows = !mayTrustTypes
        let result = try ClassInference.classes(
            in: file, format, options, besides: known, readsTypedRows: readsRows)
        notes = result.notes
        try file.rewind()
        return result
    }

    /// Whether given types may be trusted before all rows were read: the import can begin again if a value is missing.
    private var mayTrustTypes: Bool {
        !options.looksAtAllRows && file.size != nil && options.batch == nil
            && options.rejects == nil && options.sample == nil
    }

    /// Whether nested objects become objects of a new class.
    private func makesLinkedClass(_ known: Schema) -> Bool {
        options.links.values.contains { known.find($0) == nil }
    }

    func read(into importer: Importer) throws {
        switch format {
        case .jsonLines: try JSONLinesSource(file).read(into: importer)
        case .json:
            try JSONSource(JSONRowReader(file, path: options.records)).read(into: importer)
        case .geoJSON: try JSONSource(.features(file)).read(into: importer)
        case .csv, .tsv:
            let source = CSVSource(file, trustsTypes: mayTrustTypes)
            defer { notes = source.notes + notes }
            try source.read(into: importer)
        case .lua: try LuaSource(file).read(into: importer)
        case .sqlite, .realm, .postgres:
            throw StoreError(.invalidArgument, "a database is not text")
        }
    }
}
