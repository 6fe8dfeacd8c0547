/// A type of the Lua API: a table of functions, a kind of value, or a table of options.
package struct HelpType: Sendable, Hashable {
    /// The name in help: `store`, `Results`, `open options`.
    package let name: String
    /// The name in annotations and signatures, without the prefix `moonpool.`: `Store`.
    package let annotation: String
    /// The replacement of `T` in printed signatures: `object` or `value`; empty for types without `T`.
    package let element: String
    /// The type from which it inherits members; nil for none.
    package let parent: String?
    /// The annotations: the description, and the class as the last line.
    let lines: ArraySlice<String>

    /// A description of one sentence.
    package var summary: String { AnnotationText(lines).summary }
    /// An example script; empty if the examples of its members suffice.
    package var example: String { AnnotationText(lines).example }

    /// Returns the prefix of member names: `store:`, `moonpool.`, or an empty text for globals.
    func prefix(_ separator: String) -> String {
        self == HelpCatalog.prompt ? "" : name + separator
    }

    /// Returns the names of the methods or of the fields, including inherited ones.
    package func names(isMethod: Bool) -> [String] {
        HelpCatalog.entries(of: self).filter { ($0.kind == .method) == isMethod }.map(\.name)
            + (parent.flatMap(HelpCatalog.type(named:))?.names(isMethod: isMethod) ?? [])
    }

    /// Compares names, which are unique.
    package static func == (left: HelpType, right: HelpType) -> Bool {
        left.name == right.name
    }

    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
