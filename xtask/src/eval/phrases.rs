//! Words that sessions are made of.

/// The language of a session's talk.
pub(crate) struct Words {
    /// First and second half of a name that only one thing in the session has.
    pub(crate) first: &'static [&'static str],
    pub(crate) second: &'static [&'static str],
    /// Sentences that say nothing worth keeping; `{n}` becomes a number, `{s}` the name of some thing.
    pub(crate) filler: &'static [&'static str],
    /// What a person asks; `{s}` as above.
    pub(crate) asks: &'static [&'static str],
    /// Facts by class: who says it, the sentence and the question. `{s}` is the thing, `{v}` the value.
    pub(crate) facts: &'static [Template],
    pub(crate) gap: &'static str,
}

/// Who says a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
    Tool,
}

/// What kind of value a fact has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Path,
    Port,
    Duration,
    Ticket,
    Hash,
    Url,
    Demand,
    Error,
    Person,
    Date,
    Setting,
}

/// A fact to be planted.
pub(crate) struct Template {
    pub(crate) class: Class,
    pub(crate) speaker: Speaker,
    pub(crate) says: &'static str,
    pub(crate) asks: &'static str,
}

const fn fact(class: Class, speaker: Speaker, says: &'static str, asks: &'static str) -> Template {
    Template {
        class,
        speaker,
        says,
        asks,
    }
}

pub(crate) const ENGLISH: Words = Words {
    first: &[
        "amber", "brisk", "cobalt", "dapple", "ember", "fallow", "granite", "hollow", "ivory", "jasper",
        "kelp", "lunar", "mossy", "nettle", "ochre", "pewter", "quartz", "russet", "sable", "tidal", "umber",
        "velvet", "willow", "yarrow", "zephyr", "bracken", "cedar", "drift", "fennel", "gorse", "harbor",
        "juniper", "larch", "maple", "northern", "osprey", "pebble", "quiet", "reed", "slate", "thistle",
        "upland", "vesper", "walnut",
    ],
    second: &[
        "gateway",
        "replica",
        "ledger",
        "scheduler",
        "mailer",
        "indexer",
        "importer",
        "cache",
        "exporter",
        "beacon",
        "registry",
        "planner",
        "router",
        "archive",
        "monitor",
        "broker",
        "collector",
        "resolver",
        "tracker",
        "compiler",
        "renderer",
        "balancer",
        "watcher",
        "notifier",
        "uploader",
        "sampler",
        "crawler",
        "parser",
        "validator",
        "dispatcher",
        "listener",
        "packer",
        "signer",
        "merger",
        "profiler",
        "limiter",
        "recorder",
        "translator",
        "reporter",
        "janitor",
        "courier",
        "steward",
        "warden",
        "auditor",
    ],
    filler: &[
        "I looked through the last {n} entries and they all read the same.",
        "The run took a while, but nothing in it stood out.",
        "Most of this was moved around last spring and nobody has complained since.",
        "The {s} came up again, though only in passing.",
        "There were {n} warnings, all of them of the kind we agreed to leave alone.",
        "I compared both versions line by line and found only spaces.",
        "That part of the system is older than it looks, which explains the naming.",
        "We can come back to it once the rest is settled.",
        "The first {n} rows look right, and so do the ones at the end.",
        "It behaves the same with a cold start, only slower.",
        "Someone left a comment there that explains the reasoning rather well.",
        "The tests for the {s} pass, the ones beside them were skipped.",
        "I tried the other order too and the outcome did not change.",
        "Nothing in the history says why it was done this way.",
        "The output is long, so I only kept what seemed to matter.",
        "It would be tidier to split this, but that is for another day.",
    ],
    asks: &[
        "Could you have another look at the {s}? Something about it feels slow.",
        "Please go on with the {s} and tell me when it behaves.",
        "What is left to do for the {s}?",
        "Let us turn to the {s} now.",
        "I think the {s} is next on the list.",
    ],
    facts: &[
        fact(
            Class::Path,
            Speaker::Assistant,
            "The settings of the {s} live in {v}.",
            "{s} settings",
        ),
        fact(
            Class::Path,
            Speaker::Tool,
            "wrote the {s} dump to {v}",
            "{s} dump",
        ),
        fact(
            Class::Port,
            Speaker::User,
            "The {s} listens on port {v}.",
            "{s} port",
        ),
        fact(
            Class::Duration,
            Speaker::User,
            "The timeout of the {s} is {v}.",
            "{s} timeout",
        ),
        fact(
            Class::Duration,
            Speaker::Tool,
            "measured the {s} at {v}",
            "{s} measured",
        ),
        fact(
            Class::Ticket,
            Speaker::User,
            "The trouble with the {s} is tracked as {v}.",
            "{s} tracked",
        ),
        fact(
            Class::Hash,
            Speaker::Assistant,
            "The {s} was repaired in commit {v}.",
            "{s} commit",
        ),
        fact(
            Class::Url,
            Speaker::Assistant,
            "The dashboard of the {s} is {v} for now.",
            "{s} dashboard",
        ),
        fact(Class::Demand, Speaker::User, "{v}", "{s} restart asking"),
        fact(
            Class::Error,
            Speaker::Tool,
            "ERROR {v}: the {s} refused the handshake",
            "{s} refused handshake",
        ),
        fact(
            Class::Person,
            Speaker::User,
            "{v} looks after the {s}.",
            "{s} looks after",
        ),
        fact(Class::Date, Speaker::User, "The {s} moves on {v}.", "{s} moves"),
        fact(
            Class::Setting,
            Speaker::Assistant,
            "I set {v} for the {s}.",
            "{s} set",
        ),
    ],
    gap: " ",
};

pub(crate) const CHINESE: Words = Words {
    first: &[
        "青石", "白鹭", "赤松", "玄武", "银杏", "紫荆", "墨竹", "金桂", "寒梅", "碧波", "苍鹰", "云杉",
        "流萤", "霜叶", "晨曦", "暮雪", "远山", "深谷", "长河", "孤舟", "清泉", "幽兰", "朱雀", "白虎",
        "麒麟", "凤凰", "芦苇", "海棠", "丁香", "琥珀", "翡翠", "珊瑚", "玛瑙", "砚台", "古琴", "玉笛",
        "铜镜", "石桥", "竹林", "梧桐",
    ],
    second: &[
        "网关",
        "副本",
        "账本",
        "调度器",
        "邮差",
        "索引器",
        "导入器",
        "缓存",
        "导出器",
        "信标",
        "注册表",
        "规划器",
        "路由器",
        "归档库",
        "监视器",
        "中间件",
        "采集器",
        "解析器",
        "追踪器",
        "编译器",
        "渲染器",
        "均衡器",
        "哨兵",
        "通知器",
        "上传器",
        "采样器",
        "爬虫",
        "校验器",
        "分发器",
        "监听器",
        "打包器",
        "签名器",
        "合并器",
        "限流器",
        "记录器",
        "翻译器",
        "报表",
        "清道夫",
        "信使",
        "审计员",
    ],
    filler: &[
        "我把最近的{n}条记录都看了一遍，内容基本一样。",
        "这次运行时间比较长，不过没有什么特别的地方。",
        "这部分去年春天调整过，之后一直没有人提意见。",
        "{s}又被提到了一次，只是顺带一说。",
        "一共有{n}条警告，都是我们说好先不管的那一类。",
        "两个版本我逐行比较过，只有空格不同。",
        "这块代码比看上去要老，所以名字有点奇怪。",
        "等其余的部分定下来以后我们再回来看它。",
        "前{n}行看起来是对的，最后几行也一样。",
        "冷启动的时候表现相同，只是慢一些。",
        "那里有人留了一段注释，把理由讲得很清楚。",
        "{s}的测试都通过了，旁边那几个被跳过。",
        "我换了一种顺序又试了一次，结果没有变化。",
        "历史记录里没有说明当初为什么这样做。",
        "输出很长，我只留下了看起来重要的部分。",
    ],
    asks: &[
        "请再看一下{s}，感觉它有点慢。",
        "请继续处理{s}，好了告诉我一声。",
        "{s}还剩下哪些事情要做？",
        "我们现在来看{s}吧。",
    ],
    facts: &[
        fact(
            Class::Path,
            Speaker::Assistant,
            "{s}的配置放在 {v} 里。",
            "{s} 配置",
        ),
        fact(Class::Path, Speaker::Tool, "{s}的转储写到了 {v}", "{s} 转储"),
        fact(Class::Port, Speaker::User, "{s}监听的端口 port {v}。", "{s} 端口"),
        fact(
            Class::Duration,
            Speaker::User,
            "{s}的超时时间是 {v}。",
            "{s} 超时",
        ),
        fact(Class::Ticket, Speaker::User, "{s}的问题记录在 {v}。", "{s} 问题"),
        fact(
            Class::Hash,
            Speaker::Assistant,
            "{s}在提交 {v} 里修好了。",
            "{s} 提交",
        ),
        fact(
            Class::Url,
            Speaker::Assistant,
            "{s}的看板目前是 {v} 。",
            "{s} 看板",
        ),
        fact(Class::Demand, Speaker::User, "{v}", "{s} 重启"),
        fact(
            Class::Error,
            Speaker::Tool,
            "ERROR {v}：{s}拒绝了握手",
            "{s} 握手",
        ),
        fact(Class::Person, Speaker::User, "{v}负责{s}。", "{s} 负责"),
        fact(Class::Date, Speaker::User, "{s}在 {v} 迁移。", "{s} 迁移"),
        fact(
            Class::Setting,
            Speaker::Assistant,
            "我为{s}设置了 {v} 。",
            "{s} 设置",
        ),
    ],
    gap: "",
};

/// Given and family names.
pub(crate) const PEOPLE: [&[&str]; 2] = [
    &[
        "Mira", "Tomas", "Ines", "Ravi", "Elsa", "Noor", "Pavel", "Greta", "Hugo", "Selma", "Otto", "Lena",
    ],
    &[
        "Solberg", "Havel", "Quist", "Menon", "Brandt", "Aziz", "Novak", "Lindh", "Ferrer", "Okafor",
        "Weiss", "Kato",
    ],
];
