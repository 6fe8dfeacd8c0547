/// Converts names of tables and columns to names of classes and properties.
enum SchemaNames {
    /// Converts `order_items` to `OrderItems`.
    static func className(_ table: String) -> String {
        let words = table.unicodeScalars.split { !isWordPart($0) || $0 == "_" }
        let name = words.map { word in
            let text = String(String.UnicodeScalarView(word))
            return text.prefix(1).uppercased() + text.dropFirst()
        }.joined()
        let isUpper = name.unicodeScalars.first?.properties.isUppercase ?? false
        return limited(isUpper ? name : "Table" + name)
    }

    /// Returns whether a property can have this name.
    static func isName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, !("0"..."9").contains(first) else {
            return false
        }
        return name.utf8.count <= 200 && name.unicodeScalars.allSatisfy(isWordPart)
    }

    /// Converts `unit price` to `unit_price`.
    static func property(_ column: String) -> String {
        var name = String.UnicodeScalarView()
        for scalar in column.unicodeScalars { name.append(isWordPart(scalar) ? scalar : "_") }
        let isDigit = name.first.map { ("0"..."9").contains($0) } ?? true
        return limited((isDigit ? "_" : "") + String(name))
    }

    /// Converts `owner_id` and `ownerId` to `owner`; nil for other names.
    static func linkName(_ property: String) -> String? {
        for suffix in ["_id", "_ID", "Id", "ID"]
        where property.hasSuffix(suffix) && property.count > suffix.count {
            let name = String(property.dropLast(suffix.count))
            return name.hasSuffix("_") ? nil : name
        }
        return nil
    }

    private static func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
    }

    private static func limited(_ name: String) -> String {
        var name = name
        while name.utf8.count > 200 { name.removeLast() }
        return name
    }
}
