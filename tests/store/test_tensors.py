"""safetensors files: what is written is what is read, and a damaged file is refused before it does harm."""

import errno
import json
import os
import resource
import struct

import pytest
import torch

from glassformer.errors import UserError
from glassformer.models import GPT, GPTConfig
from glassformer.store import tensors


def gpt(seed=0, **changes):
    torch.manual_seed(seed)
    shape = {"vocab_size": 4, "context": 4, "n_layers": 1, "n_heads": 1, "d_model": 3, "positions": "none"}
    return GPT(GPTConfig(**{**shape, **changes}))


def state(model):
    return {name: tensor.detach().clone() for name, tensor in tensors.model_tensors(model).items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def packed(header, data=b""):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture
def whole(path):
    """The bytes of a sound file."""
    tensors.write(path, tensors.model_tensors(gpt()))
    return path.read_bytes()


def refused(path, raw):
    """What reading says of such a file, after making sure that no model was touched."""
    path.write_bytes(raw)
    model = gpt(1)
    before = state(model)
    with pytest.raises(UserError) as error:
        tensors.fill(model, tensors.read(path), path)
    assert same(state(model), before)
    message = str(error.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def test_a_view_comes_back_as_it_looked(path):
    a = torch.arange(6).reshape(2, 3).T
    row = torch.arange(4.0).expand(2, 4)
    tensors.write(path, {"a": a, "row": row, "part": a[1:, :1]})
    read = tensors.read(path)
    assert read["a"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert read["row"].tolist() == row.tolist()
    assert read["part"].tolist() == [[1], [2]]


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool]
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3, 2)])
def test_dtypes_and_shapes_are_kept(dtype, shape, path):
    tensor = torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    tensors.write(path, {"x": tensor.requires_grad_(dtype == torch.float32)})
    read = tensors.read(path)["x"]
    assert read.dtype == dtype
    assert torch.equal(read, tensor)
    assert not read.requires_grad


def test_nothing_at_all_can_be_written(path):
    tensors.write(path, {})
    assert tensors.read(path) == {}


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_who_may_read_is_what_the_umask_says(umask, mode, path):
    before = os.umask(umask)
    try:
        tensors.write(path, {"x": torch.zeros(1)})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_cut_file_is_refused_wherever_it_was_cut(path, whole):
    header = int.from_bytes(whole[:8], "little")
    for size in (0, 4, 7, 8, 8 + header // 2, 8 + header, 8 + header + 1, len(whole) - 1):
        assert f"{size} bytes" in refused(path, whole[:size])
    assert f"its header says {len(whole)}" in refused(path, whole[:-1])
    assert f"{len(whole) + 1} bytes where its header says {len(whole)}" in refused(path, whole + b"x")


@pytest.mark.parametrize("length", [1 << 62, (1 << 64) - 1, (16 << 20) + 1, 1, 0])
def test_a_mad_header_length_allocates_nothing(length, path, whole):
    assert "no whole safetensors file" in refused(path, length.to_bytes(8, "little") + whole[8:])


@pytest.mark.parametrize(
    "raw",
    [
        packed(b"{]"),
        packed(b"\xff\xfe"),
        packed(b"[]"),
        packed(b"3 "),
        packed(b"[" * 100_000),
        packed({"a": 3}),
        packed({"a": {"dtype": "F32", "shape": [1]}}, b"1234"),
        packed({"a": entry(offsets=[0])}, b"1234"),
        packed({"a": entry(offsets=[0, "4"])}, b"1234"),
        packed({"a": entry(dtype="F99")}, b"1234"),
        packed({"a": entry(shape=[2])}, b"1234"),
        packed({"a": entry(), "b": entry()}, b"1234"),
        packed({"a": entry(offsets=[4, 8])}, b"12345678"),
        packed({"a": {"data_offsets": [0, 4]}}, b"1234"),
        packed({"__metadata__": {"n": 3}}),
        packed(b'{"a":' * 100 + b"1" + b"}" * 100),
        packed(b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "a": 3}', b"1234"),
        packed({"a": entry(offsets=[0, 10**30])}, b"1234"),
        packed({"a": entry(offsets=[0, 4]), "b": entry(offsets=[2, 6])}, b"123456"),
        packed({"a": entry(offsets=[-4, 0])}, b""),
        packed({"a": entry(shape=[0, 1 << 62], offsets=[0, 0])}),
        packed({"a": entry(shape=[-1], offsets=[0, 4])}, b"1234"),
    ],
)
def test_a_damaged_header_is_refused(raw, path):
    refused(path, raw)


def test_a_flipped_quote_in_a_true_header_is_refused(path, whole):
    refused(path, whole.replace(b'"dtype"', b'"dtype:', 1))


@pytest.mark.parametrize("limit", [0, 100])
def test_a_full_disk_is_an_os_error(limit, path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        with pytest.raises(OSError, match="File too large") as error:
            tensors.write(path, {"x": torch.zeros(100)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(path))


def test_missing_left_over_and_misshapen_are_named(path):
    model, sound = gpt(), state(gpt(1))
    before = state(model)
    name = "blocks.0.attention.query.weight"
    wrong = {
        f"lacks {name}": {key: value for key, value in sound.items() if key != name},
        "the model has no place for extra": {**sound, "extra": torch.zeros(1)},
        f"{name} has shape (2, 5), the model needs (3, 3)": {**sound, name: torch.zeros(2, 5)},
        f"{name} is stored as torch.int64": {**sound, name: torch.zeros(3, 3, dtype=torch.int64)},
        f"{name} is stored as torch.complex64": {**sound, name: torch.zeros(3, 3, dtype=torch.complex64)},
    }
    for message, given in wrong.items():
        with pytest.raises(UserError) as error:
            tensors.fill(model, given, path)
        assert str(error.value).startswith(str(path))
        assert message in str(error.value)
        assert same(state(model), before)
    tensors.fill(model, sound, path)
    assert same(state(model), sound)


def test_a_model_keeps_its_own_memory_and_dtype(path):
    model, given = gpt(), {name: tensor.double() for name, tensor in state(gpt(1)).items()}
    for sound in (given, state(gpt(1))):
        tensors.fill(model, sound, path)
        for tensor in sound.values():
            tensor.zero_()
        assert same(state(model), state(gpt(1)))
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_a_missing_file_is_named(path):
    with pytest.raises(UserError, match=r"model\.safetensors: No such file"):
        tensors.read(path)


def test_a_tied_head_is_stored_once_and_stays_tied(path):
    tensors.write(path, tensors.model_tensors(gpt()))
    read, model = tensors.read(path), gpt(1)
    assert sum(tensor.numel() for name, tensor in read.items() if "blocks" not in name) == 12 + 3  # the norm
    assert "head.weight" not in read
    tensors.fill(model, read, path)
    assert model.head.weight is model.embedding.weight
    assert torch.equal(model.head.weight, gpt().embedding.weight)
    before = model.head.weight.detach().clone()
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    model(torch.tensor([[1, 2]]))[0].square().sum().backward()
    optimiser.step()
    assert torch.equal(model.head.weight, model.embedding.weight)
    assert not torch.equal(model.head.weight, before)


@pytest.mark.parametrize("tied", [True, False])
def test_a_model_of_shapes_alone_is_filled_without_a_draw(tied, path):
    before = torch.get_rng_state()
    with tensors.shapes_only():
        model = GPT(gpt(tie_embeddings=tied).config)
    assert all(parameter.is_meta for parameter in model.parameters())
    torch.set_rng_state(before)
    sound = state(gpt(1, tie_embeddings=tied))
    tensors.fill(model, {name: tensor.t().contiguous().t() for name, tensor in sound.items()}, path)
    assert same(state(model), sound)
    assert (model.head.weight is model.embedding.weight) == tied
    assert all(p.requires_grad and p.is_contiguous() and p.device.type == "cpu" for p in model.parameters())


def test_an_untied_head_is_honoured(path):
    tensors.write(path, tensors.model_tensors(gpt(tie_embeddings=False)))
    model = gpt(1, tie_embeddings=False)
    tensors.fill(model, tensors.read(path), path)
    assert not torch.equal(model.head.weight, model.embedding.weight)
    assert torch.equal(model.head.weight, gpt(tie_embeddings=False).head.weight)
    with pytest.raises(UserError, match=r"no place for head\.weight"):
        tensors.fill(gpt(), tensors.read(path), path)
