// Files of torch.save, made up here: every layout a tensor may have, and everything that must be refused.
#include "checkpoint/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/checkpoint/files.h"

namespace nextscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace nextscale::testing;

StatusOr<StoredFile> ReadBytes(const TempFolder& folder, const std::string& bytes) {
  return ReadTorchFile(folder.Write("model.pth", bytes));
}

// Each tensor as floats, through the source that loaders use.
std::vector<float> Values(const StatusOr<StoredFile>& file, const std::string& name) {
  if (!file.ok()) {
    ADD_FAILURE() << ErrorText(file.status());
    return {};
  }
  const auto source = StoredTensors::Create("test", file->tensors);
  const TensorInfo* info = (*source)->Find(name);
  if (!info) {
    ADD_FAILURE() << name << " is missing";
    return {};
  }
  std::vector<float> out(static_cast<size_t>(info->shape.elements()));
  const int64_t rows = info->shape.rank() ? info->shape[0] : 1;
  const int64_t half = rows / 2, row = rows ? info->shape.elements() / rows : 0;
  EXPECT_TRUE((*source)->ReadRows(*info, 0, half, DType::kF32, out.data()).ok());
  EXPECT_TRUE((*source)->ReadRows(*info, half, rows, DType::kF32, out.data() + half * row).ok());
  return out;
}

void ExpectRefused(const StatusOr<StoredFile>& file, const std::string& what) {
  ASSERT_FALSE(file.ok()) << "expected: " << what;
  EXPECT_EQ(ExitCode(file.status()), 1);
  EXPECT_THAT(ErrorText(file.status()), HasSubstr(what));
  EXPECT_THAT(ErrorText(file.status()), HasSubstr("model.pth"));
}

const std::string kSix = BytesOf(std::vector<float>{0, 1, 2, 3, 4, 5});

TEST(TorchFile, LayoutsOfTensors) {
  const TempFolder folder;
  const auto file = ReadBytes(
      folder, TorchFile(Whole(StateDict({{"dense", "FloatStorage", "0", 6, 0, {2, 3}, {3, 1}},
                                         {"transposed", "FloatStorage", "0", 6, 0, {3, 2}, {1, 3}},
                                         {"tail", "FloatStorage", "0", 6, 4, {2}, {1}},
                                         {"column", "FloatStorage", "0", 6, 1, {2, 1}, {3, 1}},
                                         {"repeated", "FloatStorage", "0", 6, 2, {3}, {0}},
                                         {"scalar", "FloatStorage", "0", 6, 5, {}, {}},
                                         {"ones", "FloatStorage", "0", 6, 0, {1, 2, 1}, {77, 1, 99}},
                                         {"nothing", "FloatStorage", "0", 6, 0, {0, 3}, {3, 1}}})),
                        {kSix}));
  EXPECT_THAT(Values(file, "dense"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Values(file, "transposed"), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(Values(file, "tail"), ElementsAre(4, 5));
  EXPECT_THAT(Values(file, "column"), ElementsAre(1, 4));
  EXPECT_THAT(Values(file, "repeated"), ElementsAre(2, 2, 2));
  EXPECT_THAT(Values(file, "scalar"), ElementsAre(5));
  EXPECT_THAT(Values(file, "ones"), ElementsAre(0, 1));
  EXPECT_THAT(Values(file, "nothing"), ElementsAre());
}

TEST(TorchFile, FloatTypesAtAnyAlignment) {
  const std::string halves = BytesOf(std::vector<uint16_t>{0x3c00, 0xc000, 0x0001, 0x7bff}),
                    brains = BytesOf(std::vector<uint16_t>{0x3f80, 0xc000, 0x4049}),
                    doubles = BytesOf(std::vector<double>{0.5, -1.25});
  for (const std::string pad : {"", "x", "xy", "xyz"}) {  // moves the storages that follow
    const TempFolder folder;
    std::vector<ZipEntry> entries = {
        {"a/pad", pad},
        {"a/data/0", halves},
        {"a/data/1", brains},
        {"a/data/2", doubles},
        {"a/data.pkl", Whole(StateDict({{"half", "HalfStorage", "0", 4, 0, {4}, {1}},
                                        {"brain", "BFloat16Storage", "1", 3, 0, {3}, {1}},
                                        {"double", "DoubleStorage", "2", 2, 0, {2}, {1}}}))}};
    const auto file = ReadBytes(folder, Zip(entries));
    EXPECT_THAT(Values(file, "half"), ElementsAre(1, -2, 0x1p-24f, 65504));
    EXPECT_THAT(Values(file, "brain"), ElementsAre(1, -2, 3.140625f));
    EXPECT_THAT(Values(file, "double"), ElementsAre(0.5f, -1.25f));
  }
}

TEST(TorchFile, Zip64AndArchiveComment) {
  const TempFolder folder;
  std::string bytes = TorchFile(Whole(StateDict({{"t", "FloatStorage", "0", 6, 0, {6}, {1}}})), {kSix}, true);
  EXPECT_THAT(Values(ReadBytes(folder, bytes), "t"), ElementsAre(0, 1, 2, 3, 4, 5));
  bytes = TorchFile(Whole(StateDict({{"t", "FloatStorage", "0", 6, 0, {6}, {1}}})), {kSix});
  bytes[bytes.size() - 2] = 5;
  EXPECT_THAT(Values(ReadBytes(folder, bytes + "hello"), "t"), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(TorchFile, StateDictsAreFoundWhereCheckpointsNestThem) {
  const std::string state = StateDict({{"t", "FloatStorage", "0", 6, 0, {6}, {1}}});
  for (const std::string& pickle :
       {state, "}(" + Text("trainer") + "}(" + Text("gpt_fsdp") + state + "uu",
        "}(" + Text("vae") + state + "u", "}(" + Text("epoch") + Int(3) + Text("ema") + state + "u",
        // Attributes of a dict, a big whole number, a size, a device and a type.
        "}(" + Text("a") + "\x8a\x09" + std::string(9, '\x11') + Text("b") + "ctorch\nSize\n" +
            Tuple({1, 2}) + "\x85R" + Text("c") + "ctorch\ndevice\n" + Text("cpu") + "\x85R" + Text("d") +
            "ctorch\nbfloat16\n" + Text("vae") + state + "}(" + Text("_metadata") + "}ubu"}) {
    const TempFolder folder;
    EXPECT_THAT(Values(ReadBytes(folder, TorchFile(Whole(pickle), {kSix})), "t"),
                ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST(TorchFile, NothingIsExecuted) {
  const TempFolder folder;
  ExpectRefused(ReadBytes(folder, TorchFile(Whole("cos\nsystem\n" + Text("true") + "\x85R"), {})),
                "os.system");
  ExpectRefused(ReadBytes(folder, TorchFile(Whole("cbuiltins\neval\n" + Text("1") + "\x85R"), {})),
                "builtins.eval");
  ExpectRefused(ReadBytes(folder, TorchFile(Whole(Text("posix") + Text("system") + "\x93"), {})),
                "posix.system");
  ExpectRefused(ReadBytes(folder, TorchFile(Whole("ctorch.nn.modules.linear\nLinear\n)\x81"), {})),
                "torch.nn.modules.linear.Linear");
  ExpectRefused(ReadBytes(folder, TorchFile(Whole("ctorch._utils\n_rebuild_tensor_v2\n)R"), {})),
                "as torch does");
  // Opcodes that build objects: OBJ, INST, NEWOBJ, EXT1.
  for (const std::string op : {"o", "i", "\x81", "\x82"})
    ExpectRefused(ReadBytes(folder, TorchFile(Whole("ctorch\nTensor\n)" + op), {})), "opcode");
}

TEST(TorchFile, TensorsOutsideTheirStorage) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const TempFolder folder;
  for (const PickledTensor& t :
       std::vector<PickledTensor>{{"t", "FloatStorage", "0", 6, 1, {6}, {1}},
                                  {"t", "FloatStorage", "0", 6, -1, {2}, {1}},
                                  {"t", "FloatStorage", "0", 6, 0, {2}, {6}},
                                  {"t", "FloatStorage", "0", 6, 0, {2}, {-1}},
                                  {"t", "FloatStorage", "0", 6, 0, {3, kHuge}, {1, 1}},
                                  {"t", "FloatStorage", "0", 6, 0, {kHuge}, {0}},
                                  {"t", "FloatStorage", "0", 6, 0, {-2}, {1}},
                                  {"t", "FloatStorage", "0", 6, kHuge, {2}, {1}},
                                  {"t", "FloatStorage", "0", 6, 0, {2, 2}, {kHuge, kHuge}},
                                  {"t", "DoubleStorage", "0", 6, 0, {6}, {1}},
                                  {"t", "FloatStorage", "9", 6, 0, {6}, {1}}}) {
    ExpectRefused(ReadBytes(folder, TorchFile(Whole(StateDict({t})), {kSix})), "tensor t");
  }
}

TEST(TorchFile, BrokenPickles) {
  const TempFolder folder;
  const std::string deep(100000, '(');
  for (const std::string& pickle : {std::string(),
                                    std::string("."),
                                    std::string("\x80\x09."),
                                    std::string("h\x05."),
                                    std::string("j\xff\xff\xff\x7f."),
                                    std::string("a."),
                                    std::string("u."),
                                    std::string("t."),
                                    std::string("}a."),
                                    std::string("]u."),
                                    std::string("(."),
                                    std::string("q\x01."),
                                    std::string("Q."),
                                    std::string("R."),
                                    std::string("b."),
                                    std::string("X\xff\xff\xff\xff."),
                                    std::string("X\x05\0\0\0ab", 7),
                                    std::string("cnever ends"),
                                    std::string("(K\x01u."),
                                    std::string("}(K\x01u."),
                                    std::string("NN."),
                                    std::string("\x8a\xff"),
                                    std::string("K"),
                                    deep,
                                    deep + ".",
                                    std::string(2000000, 'N')}) {
    ExpectRefused(ReadBytes(folder, TorchFile(pickle, {})), "is not a pickle that torch.save writes");
  }
  for (const std::string& pickle : {std::string("N."), std::string("}."),
                                    std::string("]q\x01h\x01"
                                                "a."),
                                    std::string("}(K\x01K\x02u.")})
    ExpectRefused(ReadBytes(folder, TorchFile(pickle, {})), "holds no state dict");
}

TEST(TorchFile, AnArgumentRepeatedOftenTakesNoMemory) {
  // A tuple of 100,000 numbers, and 100,000 sizes made of it, would be 80 GB if each were copied.
  std::string pickle = "(";
  for (int i = 0; i < 100000; ++i) pickle += "K\x01";
  pickle += "tq\x01";
  for (int i = 0; i < 100000; ++i) pickle += "ctorch\nSize\nh\x01\x85R0";
  const TempFolder folder;
  ExpectRefused(ReadBytes(folder, TorchFile(pickle + ".", {})), "too long");
}

TEST(TorchFile, BrokenArchives) {
  const TempFolder folder;
  const std::string pickle = Whole(StateDict({{"t", "FloatStorage", "0", 6, 0, {6}, {1}}}));
  ExpectRefused(ReadBytes(folder, ""), "not a torch checkpoint");
  ExpectRefused(ReadBytes(folder, "PK"), "not a torch checkpoint");
  ExpectRefused(ReadBytes(folder, Zip({{"a/data.pkl", pickle, 8}})), "save the checkpoint again");
  ExpectRefused(ReadBytes(folder, Zip({{"a/data.pkl", pickle}, {"a/data.pkl", pickle}})), "twice");
  ExpectRefused(ReadBytes(folder, Zip({{"a/other", pickle}})), "data.pkl");
  ExpectRefused(ReadBytes(folder, Zip({{"a/data.pkl", pickle}, {"a/byteorder", "big"}})), "big-endian");
}

// However a small file is cut or a byte of it changed, it reads or is refused; what reads can be read
// through.
void ReadThrough(const TempFolder& folder, const std::string& bytes) {
  const auto file = ReadBytes(folder, bytes);
  if (!file.ok()) {
    EXPECT_EQ(ExitCode(file.status()), 1) << ErrorText(file.status());
    return;
  }
  const auto source = StoredTensors::Create("test", file->tensors);
  if (!source.ok()) {  // two names became one
    EXPECT_EQ(ExitCode(source.status()), 1) << ErrorText(source.status());
    return;
  }
  for (const TensorInfo* info : (*source)->List())
    if (IsFloat(info->dtype))
      ReadTensor(**source, info->name, info->shape, DType::kBF16, {}).status().IgnoreError();
}

TEST(TorchFile, EveryCutAndEveryChangedByte) {
  const TempFolder folder;
  for (bool zip64 : {false, true}) {
    const std::string bytes = TorchFile(Whole(StateDict({{"t", "FloatStorage", "0", 6, 0, {2, 3}, {3, 1}},
                                                         {"u", "HalfStorage", "1", 4, 1, {3}, {1}}})),
                                        {kSix, std::string(8, '\x3c')}, zip64);
    for (size_t n = 0; n < bytes.size(); ++n) {
      const auto cut = ReadBytes(folder, bytes.substr(0, n));
      ASSERT_FALSE(cut.ok()) << "cut at " << n;
      EXPECT_EQ(ExitCode(cut.status()), 1);
    }
    for (size_t n = 0; n < bytes.size(); ++n) {
      for (const uint8_t flip : std::array<uint8_t, 3>{0x01, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[n] = static_cast<char>(changed[n] ^ flip);
        ReadThrough(folder, changed);
      }
    }
  }
}

}  // namespace
}  // namespace nextscale
