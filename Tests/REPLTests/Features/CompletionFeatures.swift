import Foundation

extension Feature {
    /// Completion at the cursor.
    static let completion: [Feature] = [
        Feature("completion of globals and keywords", needsCursor: true) { trial in
            try trial.types("setmeta\t", shows: "> setmetatable")
            try trial.types("func\t", shows: "> function")
        },
        Feature("completion of fields and methods", needsCursor: true) { trial in
            try trial.types("string.forma\t", shows: "> string.format")
            try trial.types("store:begin_w\t", shows: "> store:begin_write")
        },
        Feature("completion of classes, properties and key paths", needsCursor: true) { trial in
            try trial.types("store:objects('Do\t", shows: "> store:objects('Dog")
            try trial.types("dogs:where('na\t", shows: "> dogs:where('name")
            try trial.types("dogs:where('\t", shows: "> dogs:where('")
        },
        Feature("completion of dot commands and their arguments", needsCursor: true) { trial in
            try trial.types(".hist\t", shows: "> .history")
            try trial.types(".mode mark\t", shows: "> .mode markdown")
        },
        Feature("completion of file names", needsCursor: true) { trial in
            try trial.write("", to: "a-file-with-a-name.lua")
            try trial.types(
                ".load \(trial.folder)/a-fi\t", shows: String("/a-file-with-a-name.lua".suffix(8)))
        },
        Feature("completion runs no code of the user", needsCursor: true) { trial in
            try trial.run(
                "lazy = setmetatable({}, { __index = function() ran = true end, __pairs = function() ran = true end })"
            )
            try trial.types("lazy.x\t", shows: "> lazy.x")
            try trial.run("'ran ' .. tostring(ran)", shows: "ran nil")
        },
        Feature("completion in large tables", needsCursor: true) { trial in
            try trial.run("big = {} for i = 1, 100000 do big['k' .. i] = i end big.only = 1")
            try trial.types("big.onl\t", shows: "> big.only")
        },
    ]
}
