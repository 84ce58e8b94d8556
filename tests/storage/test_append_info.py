from signalbox.common.file_slice import FileSlice
from signalbox.storage.append_info import EMPTY_SLICE, LogAppendInfo, LogSlice


def test_a_repeated_batch_shows_its_first_offsets() -> None:
    info = LogAppendInfo(10, 12, 100, 0)
    info.mark_duplicate(4, 6, 1000)
    assert (info.first_offset, info.last_offset, info.duplicate) == (4, 6, True)
    assert info.log_append_time_ms == -1
    assert repr(info) == "LogAppendInfo(4..6, 100 bytes, duplicate)"


def test_a_slice_is_as_long_as_its_stretch_of_file() -> None:
    assert len(LogSlice(FileSlice(1, 0, 77), 3)) == 77
    assert len(EMPTY_SLICE) == 0
    assert EMPTY_SLICE.first_offset == -1
