import DataFormats

/// Converts features of GeoJSON (RFC 7946) to rows.
///
///     {"type": "Feature", "id": 7, "geometry": {"type": "Point", …}, "properties": {"name": "Bern"}}
///
/// becomes `{"id": 7, "geometry": {"type": "Point", …}, "name": "Bern"}`.
enum GeoJSONFeature {
    /// The default class of features.
    static let className = "Feature"

    private static let type = Array("type".utf8)
    private static let properties = Array("properties".utf8)

    /// Writes the row of a feature onto another tape; copies values that are not objects.
    static func flatten(_ tape: JSONTape, onto row: JSONTape) {
        guard tape.kind(0) == .object else {
            row.clear()
            row.append(tape, 0)
            return
        }
        row.becomeObject {
            var position = 1
            while tape.kind(position) != .end {
                let value = position + 1
                if tape.equals(position, properties), tape.kind(value) == .object {
                    var inner = value + 1
                    while tape.kind(inner) != .end {
                        row.append(tape, inner)
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
