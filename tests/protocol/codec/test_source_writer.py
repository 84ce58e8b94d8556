from signalbox.protocol.codec.source_writer import SourceWriter


def test_generated_source_runs() -> None:
    out = SourceWriter()
    offset = 1000
    with out.block("def f(x):"):
        with out.block("if x > 2:"):
            out.line("return helper(x)")
        out.line(f"return {out.name(offset, 'K')}")
        with out.apart(), out.block("def helper(x):"):
            out.line("return -x")
    function = out.run("f")
    assert (function(1), function(5)) == (1000, -5)
    assert out.lines[0] == "def helper(x):"


def test_an_object_has_one_name() -> None:
    out = SourceWriter()
    value = object()
    assert out.name(value, "D") == out.name(value, "E")
    assert out.name(object(), "D") != out.name(value, "D")
    assert out.fresh("n") != out.fresh("n")
