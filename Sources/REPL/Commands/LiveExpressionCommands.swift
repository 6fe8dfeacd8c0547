import LuaHost
import ObjectStore
import StoreBindings

extension MetaCommand {
    /// Commands for expressions that are evaluated again when data changes.
    static var expressions: [MetaCommand] {
        [
            MetaCommand(
                "live", "[EXPRESSION | off [N]]",
                "Show the value of an expression above the prompt now and whenever it changes; off ends all, or one.",
                argument: .expression, isUnsaved: true
            ) { session, text in try session.live(text) }
        ]
    }
}

/// An expression whose value is shown whenever it changes.
struct LiveExpression {
    let number: Int
    let text: String
    let effect: Effect
}

extension Session {
    fileprivate func live(_ text: String) throws {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        if words.first == "off", words.count <= 2 {
            return try endLive(words.count == 2 ? words[1] : nil)
        }
        guard !text.isEmpty else {
            liveExpressions.removeAll { $0.effect.isDisposed }
            guard !liveExpressions.isEmpty else {
                throw CommandError(
                    ".live takes an expression, such as store:objects(\"Dog\"):count()")
            }
            for live in liveExpressions { write("\(live.number): \(live.text)\n") }
            return
        }
        let evaluate = try evaluator.prepare("= " + text)
        lastLiveNumber += 1
        let number = lastLiveNumber
        var last: String?
        let effect = try Effect(
            in: context.storeModule.readScope,
            report: { [weak self] error in self?.showLive(number, text, "\(error)", isError: true) }
        ) { [weak self] in
            guard let self else { return }
            let shown = try evaluate().map { self.printer().print($0).text }.joined(separator: ", ")
            guard shown != last else { return }
            last = shown
            self.showLive(number, text, shown, isError: false)
        }
        guard !effect.isDisposed else {
            return write(style.paint("the expression reads no data that can change", .dim) + "\n")
        }
        liveExpressions.append(LiveExpression(number: number, text: text, effect: effect))
        script.add(live: text, number: number)
    }

    private func showLive(_ number: Int, _ text: String, _ value: String, isError: Bool) {
        observers.unlabelled {
            screen.finishLine()
            let label = style.paint("[live \(number)]", .type)
            let separator = value.contains("\n") ? "\n" : " "
            screen.writeToScreen(
                "\(label) \(style.paint(text + " =", .dim))\(separator)"
                    + (isError ? style.paint(value, .error) : value) + "\n")
        }
    }

    private func endLive(_ number: String?) throws {
        let ended = liveExpressions.filter { number == nil || "\($0.number)" == number }
        guard !ended.isEmpty else {
            throw CommandError(
                number == nil
                    ? "there are no live expressions"
                    : "there is no live expression \(number ?? "")")
        }
        for live in ended {
            live.effect.dispose()
            script.add(
                command: ".live off \(live.number)",
                code: "\(SessionScript.name(ofLive: live.number)):dispose()")
        }
        liveExpressions.removeAll { $0.effect.isDisposed }
    }
}
