import ObjectStore

/// Converts names of a Realm file to valid schema names.
///
/// Realm permits any text. Schema names consist of letters, digits and `_`, and are unique.
struct RealmNames {
    /// The names that are already taken.
    private var taken: Set<String> = []

    /// Type names, which cannot be class names, because `link = "string"` would be ambiguous.
    private static let reserved = Set(
        PropertyType.allCases.map(\.rawValue) + ["list", "set", "map"])

    /// Returns a valid and unique name.
    ///
    /// `fallback` replaces a name without letters and digits.
    mutating func name(_ wanted: String, fallback: String, isClass: Bool = false) -> String {
        var name = Self.valid(wanted)
        if !name.unicodeScalars.contains(where: { $0 != "_" }) { name = fallback }
        if isClass, Self.reserved.contains(name) { name += "_" }
        let stem = name
        var number = 2
        while !taken.insert(name).inserted {
            name = "\(stem)_\(number)"
            number += 1
        }
        return name
    }

    /// Reserves a name without changing it.
    mutating func take(_ name: String) { taken.insert(name) }

    /// Returns the name without characters that a schema does not permit.
    private static func valid(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isDigit = ("0"..."9").contains(scalar)
            if scalar == "_" || isDigit || scalar.properties.isAlphabetic {
                scalars.append(scalar)
            } else if !scalars.isEmpty, scalars.last != "_" {
                scalars.append("_")
            }
        }
        if let last = scalars.last, last == "_", name.unicodeScalars.last != "_" {
            scalars.removeLast()
        }
        var text = String(scalars)
        if let first = text.unicodeScalars.first, ("0"..."9").contains(first) { text = "_" + text }
        while text.utf8.count > 190 { text.removeLast() }
        return text
    }
}
