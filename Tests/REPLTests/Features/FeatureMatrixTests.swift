import Testing

/// Tests every feature that users expect of a prompt: in windows of three widths, without colors, and on a terminal
/// that cannot move its cursor.
@Suite(.serialized) struct FeatureMatrixTests {
    private static let terminals = [
        FeatureTerminal(columns: 60), FeatureTerminal(columns: 80), FeatureTerminal(columns: 120),
        FeatureTerminal(isColored: false), FeatureTerminal(isDumb: true),
    ]

    @Test(arguments: terminals)
    func `Every feature works in each kind of terminal`(_ kind: FeatureTerminal) throws {
        var trial: FeatureTrial?
        let all =
            Feature.editing + Feature.completion + Feature.printing + Feature.looking
            + Feature.running + Feature.files + Feature.live
        for feature in all where !(feature.needsCursor && kind.isDumb) {
            do {
                if trial == nil {
                    let new = try FeatureTrial(kind)
                    try new.run("store:define { Dog = { name = 'string', age = 'int' } }")
                    try new.run(
                        "for i, n in ipairs { 'Rex', 'Fido', 'Ada' } do store:write(function() store:create('Dog', { name = n, age = 4 - i }) end) end"
                    )
                    try new.run("dogs = store:objects 'Dog'")
                    trial = new
                }
                if let trial { try feature.trial(trial) }
            } catch {
                Issue.record("\(feature.name): \(error)")
                trial = nil
            }
        }
    }
}
