import ObjectStore
import SystemCalls

/// The content of ``ModelOptions`` without the type of the model.
package struct ModelOptionsContent: Sendable {
    // For the compiler, a key path is Sendable only if its type is. A key path without captured values is Sendable, and
    // a path to a stored property captures none.
    private let paths: Unchecked<Paths>

    private struct Paths {
        let primaryKey: AnyKeyPath?
        let indexes: [AnyKeyPath]
        let compositeIndexes: [[AnyKeyPath]]
        let fullText: [AnyKeyPath]
        let renamed: [(AnyKeyPath, String)]
        let ignored: [AnyKeyPath]
        let rules: [(AnyKeyPath, @Sendable (inout PropertyRules) -> Void)]
        let fields: [(String, AnyKeyPath)]
    }

    init(
        primaryKey: AnyKeyPath?, indexes: [AnyKeyPath], compositeIndexes: [[AnyKeyPath]],
        fullText: [AnyKeyPath], renamed: [(AnyKeyPath, String)], ignored: [AnyKeyPath],
        rules: [(AnyKeyPath, @Sendable (inout PropertyRules) -> Void)],
        fields: [(String, AnyKeyPath)]
    ) {
        paths = Unchecked(
            Paths(
                primaryKey: primaryKey, indexes: indexes, compositeIndexes: compositeIndexes,
                fullText: fullText, renamed: renamed, ignored: ignored, rules: rules,
                fields: fields))
    }

    var primaryKey: AnyKeyPath? { paths.value.primaryKey }
    var indexes: [AnyKeyPath] { paths.value.indexes }
    var compositeIndexes: [[AnyKeyPath]] { paths.value.compositeIndexes }
    var fullText: [AnyKeyPath] { paths.value.fullText }
    var renamed: [(AnyKeyPath, String)] { paths.value.renamed }
    var ignored: [AnyKeyPath] { paths.value.ignored }
    var rules: [(AnyKeyPath, @Sendable (inout PropertyRules) -> Void)] { paths.value.rules }
    var fields: [(String, AnyKeyPath)] { paths.value.fields }
}
