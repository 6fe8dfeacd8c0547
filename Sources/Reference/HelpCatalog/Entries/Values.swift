extension HelpCatalog {
    /// The members of dates and decimal numbers.
    static let values: [HelpEntry] =
        [
            ("year", "The year."), ("month", "The month, 1 to 12."), ("day", "The day, 1 to 31."),
            ("hour", "The hour, 0 to 23."), ("minute", "The minute, 0 to 59."),
            ("second", "The second, 0 to 59."),
            ("microsecond", "The microsecond, 0 to 999999."),
        ].map { .field($0, of: [date], "integer", $1) } + [
            .field("seconds", of: [date], "number", "The seconds since 1970-01-01T00:00:00Z."),
            .field(
                "microseconds", of: [date], "integer",
                "The microseconds since 1970-01-01T00:00:00Z, exactly.",
                example: """
                    local moment = moonpool.date("2026-11-20T10:30:00.000001Z")
                    print(moment.microseconds)  --> 1795170600000001
                    print(moonpool.date { microseconds = moment.microseconds } == moment)  --> true
                    """),
            .method(
                "to_number", of: [float], ["(): number"], "Returns the value as a Lua number.",
                example: """
                    print(moonpool.float(0.1):to_number() == 0.1)  --> false
                    """),
            .method(
                "round", of: [decimal], ["(places?: integer): Decimal"],
                "Rounds to a number of decimal places (default 0), ties to even.",
                errors: [.invalidArgument],
                example: """
                    print(moonpool.decimal("2.345"):round(2))  --> 2.34
                    """),
            .method(
                "abs", of: [decimal], ["(): Decimal"], "Returns the absolute value.",
                example: """
                    print(moonpool.decimal("-1.5"):abs())  --> 1.5
                    """),
            .method(
                "to_number", of: [decimal], ["(): number"],
                "Returns the nearest Lua number; an integer if the value is integral.",
                example: """
                    print(moonpool.decimal("3.00"):to_number())  --> 3
                    """),
            .method(
                "is_nan", of: [decimal], ["(): boolean"], "Returns whether the value is NaN.",
                example: """
                    print(moonpool.decimal("NaN"):is_nan())  --> true
                    """),
            .method(
                "is_finite", of: [decimal], ["(): boolean"],
                "Returns whether the value is neither infinite nor NaN.",
                example: """
                    print(moonpool.decimal("1e6144"):is_finite())  --> true
                    """),
        ]
}
