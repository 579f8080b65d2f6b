#include "agent/gpu_files.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace sl::agent {
namespace {

int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

// ---- the program ----

// Registers of the kernel's virtual machine: the answer, what is asked for (a bpf_cgroup_dev_ctx), one to work with.
constexpr std::uint8_t answer_register = BPF_REG_0, device_register = BPF_REG_1, work_register = BPF_REG_2;

bpf_insn load_member(std::size_t member) {
  return {.code = BPF_LDX | BPF_MEM | BPF_W,
          .dst_reg = work_register,
          .src_reg = device_register,
          .off = static_cast<std::int16_t>(member)};
}

bpf_insn keep_bits(std::int32_t bits) {
  return {.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = work_register, .src_reg = 0, .off = 0, .imm = bits};
}

// `over`: how many of the instructions that follow are left out.
bpf_insn jump_if(std::uint8_t comparison, int number, std::size_t over) {
  const auto code = static_cast<std::uint8_t>(BPF_JMP | BPF_K | comparison);
  return {.code = code, .dst_reg = work_register, .src_reg = 0, .off = static_cast<std::int16_t>(over), .imm = number};
}

bpf_insn set_answer(std::int32_t number) {
  return {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = answer_register, .src_reg = 0, .off = 0, .imm = number};
}

bpf_insn end_program() { return {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}; }

// Everything may be opened but the character devices of NVIDIA with these numbers.
std::vector<bpf_insn> program_for(const std::vector<int>& closed) {
  constexpr std::int32_t type_bits = 0xFFFF;  // of access_type; the others say what is to be done
  const std::size_t all = closed.size();
  std::vector<bpf_insn> program = {load_member(offsetof(bpf_cgroup_dev_ctx, access_type)),
                                   keep_bits(type_bits),
                                   jump_if(BPF_JNE, BPF_DEVCG_DEV_CHAR, all + 3),
                                   load_member(offsetof(bpf_cgroup_dev_ctx, major)),
                                   jump_if(BPF_JNE, nvidia_major, all + 1),
                                   load_member(offsetof(bpf_cgroup_dev_ctx, minor))};
  for (std::size_t i = 0; i < all; ++i) program.push_back(jump_if(BPF_JEQ, closed[i], all - i - 1 + 2));
  program.insert(program.end(), {set_answer(1), end_program()});
  // The kernel takes no program with instructions that are never reached.
  if (!closed.empty()) program.insert(program.end(), {set_answer(0), end_program()});
  return program;
}

// ---- attached to a group ----

std::uint64_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

int load_program(const std::vector<int>& closed) {
  const std::vector<bpf_insn> program = program_for(closed);
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = address_of(program.data());
  load.insn_cnt = static_cast<std::uint32_t>(program.size());
  load.license = address_of("Apache-2.0");
  return bpf(BPF_PROG_LOAD, load);
}

// Each program of a group and of those above it can forbid.
int attach_program(int group, int program) {
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(group), attach.attach_bpf_fd = static_cast<std::uint32_t>(program);
  attach.attach_type = BPF_CGROUP_DEVICE, attach.attach_flags = BPF_F_ALLOW_MULTI;
  return bpf(BPF_PROG_ATTACH, attach);
}

void detach_program(int group, int program) {
  bpf_attr detach{};
  detach.target_fd = static_cast<std::uint32_t>(group), detach.attach_bpf_fd = static_cast<std::uint32_t>(program);
  detach.attach_type = BPF_CGROUP_DEVICE;
  bpf(BPF_PROG_DETACH, detach);
}

// The programs that the group itself has, by the kernel's numbers.
std::vector<std::uint32_t> programs_of(int group) {
  std::array<std::uint32_t, 64> numbers{};
  bpf_attr query{};
  query.query.target_fd = static_cast<std::uint32_t>(group), query.query.attach_type = BPF_CGROUP_DEVICE;
  query.query.prog_ids = address_of(numbers.data()), query.query.prog_cnt = numbers.size();
  if (bpf(BPF_PROG_QUERY, query) != 0) return {};
  return {numbers.begin(), numbers.begin() + query.query.prog_cnt};
}

int open_program(std::uint32_t number) {
  bpf_attr open{};
  open.prog_id = number;
  return bpf(BPF_PROG_GET_FD_BY_ID, open);
}

// A program that was attached beside those that the group has. -1: the kernel refuses (errno).
int add_program(int group, const std::vector<int>& closed) {
  const int program = load_program(closed);
  if (program < 0 || attach_program(group, program) == 0) return program;
  const int error = errno;
  ::close(program);
  errno = error;
  return -1;
}

// What `change` makes of the group; its result is below zero if the kernel refuses.
Status with_group(const std::string& group, const std::function<int(int group)>& change) {
  const int folder = ::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int changed = folder < 0 ? -1 : change(folder);
  const int error = errno;
  if (folder >= 0) ::close(folder);
  if (changed >= 0) return {};
  return unavailable("server_setup", "cannot close device files to " + group + ": " + std::strerror(error));
}

}  // namespace

// The new one comes before the old ones go, so that at no moment more may be opened than before or afterwards.
Status set_gpu_files_v2(const std::string& group, const std::map<int, bool>& gpus) {
  std::vector<int> closed;
  for (const auto& [gpu, may_open] : gpus) {
    if (!may_open) closed.push_back(gpu);
  }
  return with_group(group, [&](int folder) {
    const std::vector<std::uint32_t> before = programs_of(folder);
    const int program = add_program(folder, closed);
    if (program < 0) return -1;
    ::close(program);  // the group keeps it
    for (const std::uint32_t number : before) {
      const int old = open_program(number);
      detach_program(folder, old);
      ::close(old);
    }
    return 0;
  });
}

Status can_set_gpu_files_v2(const std::string& group) {
  return with_group(group, [](int folder) {
    const int program = add_program(folder, {});
    if (program < 0) return -1;
    detach_program(folder, program);
    return ::close(program);
  });
}

}  // namespace sl::agent
