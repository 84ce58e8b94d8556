from signalbox.protocol.stubs import FOLDER, main, message_classes, message_modules, stub_text


def test_every_stub_is_current() -> None:
    stale = [name for name in message_modules() if (FOLDER / f"{name}.pyi").read_text() != stub_text(name)]
    assert stale == [], "run: python -m signalbox.protocol.stubs"
    assert main(["--check"]) == 0


def test_no_stub_outlives_its_message_file() -> None:
    stubs = {path.stem for path in FOLDER.glob("*.pyi")}
    assert stubs == set(message_modules())


def test_a_stub_names_fields_with_types() -> None:
    text = stub_text("produce")
    assert "class ProduceRequest(Message):" in text
    assert "        records: Buffer | None = ...\n" in text
    assert "            records: Records | None = ...," in text
    assert "    topic_data: list[ProduceRequest.TopicProduceData] = ...\n" in text
    assert "    transactional_id: str | None = ...\n" in text


def test_only_a_class_with_records_has_a_constructor_in_its_stub() -> None:
    assert stub_text("produce").count("def __init__(") == 1
    assert "def __init__(" not in stub_text("create_topics")


def test_message_files_define_the_message_of_their_name() -> None:
    assert [cls.__name__ for cls in message_classes("fetch")] == ["FetchRequest", "FetchResponse"]
    assert all(message_classes(name) for name in message_modules())
