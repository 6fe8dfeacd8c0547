/// The records of a CSV file, accessible by column name.
///
/// The header contains the column names. Columns without a name, and all columns of a file without a header, are called
/// `column_1` and so on. Confined to one thread.
///
///     let table = try CSVTable(try FileReader("dogs.csv"))
///     while try table.next() {
///         try table.check()
///         print(table.names, try table.text(0) ?? "nil")
///     }
package final class CSVTable {
    /// The reader, with the fields of the current record.
    package let reader: CSVReader
    /// The names of the columns, which are unique: the second column called `a` is `a_2`.
    package let names: [String]
    /// Notes about decisions that the options do not determine.
    package private(set) var notes: [String] = []
    /// The bytes of the file before the first record, without the last line break; empty if there is no header.
    package let header: [UInt8]
    /// Whether the first record has already been read, in order to count the columns.
    private var isAhead = false

    /// Reads the header.
    ///
    /// Throws a `FormatError` for an empty file and for an invalid header.
    package init(_ file: FileReader, _ format: CSVFormat = CSVFormat()) throws {
        if let fault = format.fault { throw FormatError(fault) }
        let reader = CSVReader(file, format)
        self.reader = reader
        guard try reader.next() else {
            guard !format.hasHeader else {
                throw FormatError("the file is empty; a CSV file begins with a header")
            }
            names = []
            header = []
            return
        }
        notes += reader.note.map { [$0] } ?? []
        if let fault = reader.fault { throw FormatError(line: reader.line, fault) }
        reader.keepColumnCount()
        guard format.hasHeader else {
            names = (0..<reader.count).map(CSVFormat.columnName)
            header = reader.separatorLine
            isAhead = true
            return
        }
        let titles = try (0..<reader.count).map { index in
            do {
                let name = try reader.text(index) ?? ""
                return name.isEmpty ? CSVFormat.columnName(index) : name
            } catch let error as FormatError {
                throw FormatError(
                    line: error.line, error.reason.replacing("the field", with: "the header"))
            }
        }
        header =
            [UInt8](repeating: 0x0A, count: format.skippedLines) + reader.separatorLine
            + reader.record
        var taken = Set(titles)
        var seen: Set<String> = []
        var notes: [String] = []
        names = titles.map { title in
            guard !seen.insert(title).inserted else { return title }
            var number = 2
            while !taken.insert("\(title)_\(number)").inserted { number += 1 }
            notes.append(
                "a column called '\(title)' is '\(title)_\(number)', because there are several")
            return "\(title)_\(number)"
        }
        self.notes += notes
    }

    /// Advances to the next record.
    ///
    /// Returns false at the end of the file.
    package func next() throws -> Bool {
        if isAhead {
            isAhead = false
            return true
        }
        return try reader.next()
    }

    /// Returns the text of a field in the current record; nil if the field is nil.
    ///
    /// Throws a `FormatError` with the column if the text is not UTF-8.
    package func text(_ index: Int) throws -> String? {
        do {
            return try reader.text(index)
        } catch let error as FormatError {
            throw FormatError(
                line: error.line, column: index + 1,
                error.reason.replacing("the field", with: "'\(names[index])'"))
        }
    }

    /// Throws a `FormatError` if the current record is invalid, or if its number of fields differs from the number of
    /// columns.
    package func check() throws {
        if let fault = reader.fault { throw FormatError(line: reader.line, fault) }
        guard reader.count != names.count else { return }
        let noun = reader.count == 1 ? "field" : "fields"
        let subject = reader.format.hasHeader ? "the header names" : "the first record has"
        throw FormatError(
            line: reader.line,
            "the record has \(reader.count) \(noun), \(subject) \(names.count)")
    }
}
