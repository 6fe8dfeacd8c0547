import DataFormats
import ObjectStore

/// Where rows come from: an opened file of some format.
protocol RowSource: AnyObject {
    /// What was converted or left out because a store has no counterpart.
    var notes: [String] { get }
    /// The part of the work that is done, from 0 to 1, where that is known.
    var part: Double? { get }
    /// The classes of the rows, as the file describes them or its rows show, with those that the schema has.
    func classes(besides known: Schema) throws -> ClassInference.Result
    /// The version of the schema that the file states; nil if it states none.
    func schemaVersion() throws -> UInt64?
    /// Gives all rows to an importer.
    func read(into importer: Importer) throws
}

extension RowSource {
    func schemaVersion() throws -> UInt64? { nil }
}

/// The rows of a file that is read from its beginning to its end.
final class TextSource: RowSource {
    private(set) var notes: [String] = []
    private let format: TransferFormat
    private let options: ImportOptions
    private let file: FileReader

    /// Opens the file.
    init(_ path: String, _ format: TransferFormat, _ options: ImportOptions) throws {
        self.format = format
        self.options = options
        file = try FileReader(path)
    }

    var part: Double? {
        file.size.flatMap { $0 > 0 ? Double(file.position) / Double($0) : nil }
    }

    func classes(besides known: Schema) throws -> ClassInference.Result {
        if let name = options.className, known.find(name) != nil, !makesLinkedClass(known) {
            return ClassInference.Result()
        }
        file.keepForRewinding()
        let result = try ClassInference.classes(in: file, format, options, besides: known)
        notes = result.notes
        try file.rewind()
        return result
    }

    /// Whether nested objects become objects of a class that is new.
    private func makesLinkedClass(_ known: Schema) -> Bool {
        options.links.values.contains { known.find($0) == nil }
    }

    func read(into importer: Importer) throws {
        switch format {
        case .jsonLines: try JSONLinesSource(file).read(into: importer)
        case .json:
            try JSONSource(JSONRowReader(file, path: options.records)).read(into: importer)
        case .geoJSON: try JSONSource(.features(file)).read(into: importer)
        case .csv, .tsv: try CSVSource(file).read(into: importer)
        case .lua: try LuaSource(file).read(into: importer)
        case .sqlite, .realm, .postgres:
            throw StoreError(.invalidArgument, "a database is not text")
        }
    }
}
