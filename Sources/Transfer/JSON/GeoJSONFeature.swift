import DataFormats

/// Converts features of GeoJSON (RFC 7946) to rows.
///
///     {"type": "Feature", "id": 7, "geometry": {"type": "Point", …}, "properties": {"name": "Bern"}}
///
/// becomes `{"id": 7, "geometry": {"type": "Point", …}, "name": "Bern"}`. A property that is called like a member of its
/// feature, such as a second `id`, gets the name `properties.id`.
enum GeoJSONFeature {
    /// The default class of features.
    static let className = "Feature"

    /// The start of the names of properties that are called like members of their features.
    static let prefix = "properties."

    private static let type = Array("type".utf8)
    private static let properties = Array("properties".utf8)

    /// Writes the row of a feature onto another tape; copies values that are not objects.
    static func flatten(_ tape: JSONTape, onto row: JSONTape) {
        guard tape.kind(0) == .object else {
            row.clear()
            row.append(tape, 0)
            return
        }
        var names: Set<String> = []
        JSONNode(tape).forEachMember { name, _ in names.insert(name) }
        row.becomeObject {
            var position = 1
            while tape.kind(position) != .end {
                let value = position + 1
                if tape.equals(position, properties), tape.kind(value) == .object {
                    var inner = value + 1
                    while tape.kind(inner) != .end {
                        let name = tape.text(inner)
                        if names.contains(name), name != "type", name != "properties" {
                            row.append(name: prefix + name)
                        } else {
                            row.append(tape, inner)
                        }
                        row.append(tape, inner + 1)
                        inner = tape.after(inner + 1)
                    }
                } else if !tape.equals(position, type), !tape.equals(position, properties) {
                    row.append(tape, position)
                    row.append(tape, value)
                }
                position = tape.after(value)
            }
        }
    }
}
