import DataFormats
import ObjectStore

/// Assigns columns to properties, by one rule for new and existing classes.
///
/// 1. A name in the options.
/// 2. For a foreign key to objects: the name of the link, such as `owner` for `owner_id`.
/// 3. The column's own name, if a property can have it.
/// 4. A similar name, such as `unit_price` for `unit price`, with a number if it is taken.
///
/// The result depends only on the columns and the options. Therefore a second import of the same table uses the same
/// properties.
struct ColumnNames {
    private var taken: Set<String> = []

    /// Returns a name that no other property has: the wanted name, or the first free variant of it.
    mutating func unique(_ wanted: String) -> String {
        var name = wanted
        var number = 1
        while !taken.insert(name).inserted {
            number += 1
            name = Self.numbered(wanted, number)
        }
        return name
    }

    /// Returns the variant of a name that is used for its second, third … column.
    static func numbered(_ name: String, _ number: Int) -> String { "\(name)_\(number)" }

    /// Returns the property of each column; nil for columns that are omitted.
    ///
    /// `link` is the wanted name of a link; `given` returns the name from the options, which is empty for an omitted
    /// column. Throws a `FormatError` if the options give two columns the same name.
    mutating func properties(
        of columns: [(name: String, link: String?)], given: (String) -> String?
    ) throws -> [String?] {
        var result = [String?](repeating: nil, count: columns.count)
        var rest: [Int] = []
        for (index, column) in columns.enumerated() {
            guard let name = given(column.name) else {
                rest.append(index)
                continue
            }
            guard !name.isEmpty else { continue }
            guard taken.insert(name).inserted else {
                throw FormatError("two columns map to '\(name)'")
            }
            result[index] = name
        }
        let names = Set(columns.map(\.name))
        for index in rest {
            let link = columns[index].link.flatMap { names.contains($0) ? nil : $0 }
            let own = SchemaNames.isName(columns[index].name) ? columns[index].name : nil
            result[index] = [link, own].compactMap(\.self).first { taken.insert($0).inserted }
        }
        for index in rest where result[index] == nil {
            result[index] = unique(SchemaNames.property(columns[index].name))
        }
        return result
    }
}
