# SPDX-License-Identifier: Apache-2.0
"""The language, row by row: what programs compute when they run, and, where the text tells it, when they are read."""

import pytest

import armwright as aw
from armwright.programs import Pose
from support.scripts import PLACES, program, run


def out(*values: str) -> str:
    return "".join(f"  keep({value})\n" for value in values)


# name, body, functions, what is kept; rows whose name ends in * are not told by their text alone
LANGUAGE = [
    ("integers divide into others", out("7/2", "8/2", "7.0/2"), "", [3.5, 4, 3.5]),
    ("rest of a division", out("7 % 4", "7.5 % 2"), "", [3, 1.5]),
    ("rest keeps the sign*", out("-7 % 4", "7 % -4", "-7.5 % 2"), "", [-3, 3, -1.5]),
    ("products before sums", out("1+2*3-4/2", "(1+2)*3"), "", [5, 9]),
    ("a sign before a number", out("-2*3+9", "- 2", "3 - -2", "+4"), "", [3, -2, 5, 4]),
    ("from left to right", out("10-4-3", "100/10/2", "2*3%4"), "", [3, 5, 2]),
    ("numbers without a zero*", out(".5 + 1.", "1e-2", "2E3", "1.5e+1"), "", [1.5, 0.01, 2000, 15]),
    ("sines", out("sin(d2r(90))", "cos(0)", "tan(0)", "asin(1)-acos(0)"), "", [1, 1, 0, 0]),
    ("arcs", out("r2d(atan2(1, 1))", "r2d(atan(1))"), "", [45, 45]),
    ("rounding", out("floor(2.7)", "ceil(2.2)", "round(2.5)", "floor(-2.5)", "round(-2.5)"), "", [2, 3, 3, -3, -2]),
    ("powers", out("pow(2, 3)", "pow(4, 0.5)", "pow(2, -1)"), "", [8, 2, 0.5]),
    ("roots and logarithms", out("sqrt(9)", "log(10, 100)", "log(2, 8)"), "", [3, 2, 3]),
    ("size of a number", out("abs(-3)", "abs(2.5)", "norm(-2)", "norm([3, 4])"), "", [3, 2.5, 2, 5]),
    ("large integers become others*", "  a = 2147483647\n  a = a + 1\n" + out("a", "a / 2"), "", [2**31, 2**30]),
    ("lists count from 0", "  l = [1, 2, 3]\n  l[2] = 9\n" + out("l[0]", "l[2]"), "", [1, 9]),
    ("an index is computed", "  l = [1, 2, 3]\n  i = 1\n" + out("l[i+1]", "l[l[0]]"), "", [3, 2]),
    ("lists are values", "  l = [1, 2]\n  m = l\n  m[0] = 5\n" + out("l[0]", "m[0]"), "", [1, 5]),
    (
        "lists in arguments are values",
        "  l = [1]\n" + out("g(l)", "l[0]"),
        "  def g(m):\n    m[0] = 5\n    return m[0]\n  end\n",
        [5, 1],
    ),
    (
        "a returned list is a value",
        "  m = g()\n  m[0] = 5\n" + out("m[0]", "h[0]"),
        "  h = [1]\n  def g():\n    return h\n  end\n",
        [5, 1],
    ),
    ("lists add", "  l = [1, 2] + [3, 4]\n" + out("l[0]", "l[1]"), "", [4, 6]),
    ("lists subtract", "  l = [1, 2] - [3, 5]\n" + out("l[0]", "l[1]"), "", [-2, -3]),
    ("a number times a list", "  l = 2 * [1, 2]\n  m = [1, 2] * 3\n" + out("l[1]", "m[1]"), "", [4, 6]),
    ("a list by a number", "  l = [1, 3] / 2\n" + out("l[0]", "l[1]"), "", [0.5, 1.5]),
    ("minus a list*", "  l = -[1, 3]\n" + out("l[0]", "l[1]"), "", [-1, -3]),
    ("lists in lists", "  l = [[1, 2], [3, 4]]\n" + out("l[1][0]"), "", [3]),
    (
        "items of items are set*",
        "  l = [[1, 2], [3, 4]]\n  m = l\n  m[1][0] = 9\n" + out("m[1][0]", "l[1][0]"),
        "",
        [9, 3],
    ),
    ("a matrix times a list*", "  l = [[1, 2], [3, 4]] * [1, 1]\n" + out("l[0]", "l[1]"), "", [3, 7]),
    ("a matrix times a matrix*", "  l = [[1, 2], [3, 4]] * [[0, 1], [1, 0]]\n" + out("l[0][0]", "l[1][0]"), "", [2, 4]),
    ("items of a matrix*", "  l = [[1, 2], [3, 4]]\n" + out("l[1, 0]"), "", [3]),
    ("an inverse matrix*", "  l = inv([[2, 0], [0, 4]])\n" + out("l[0][0]", "l[1][1]"), "", [0.5, 0.25]),
    ("length", out("length([1, 2, 3])", "get_list_length([1])"), "", [3, 1]),
    ("made lists", "  l = make_list(3, 2)\n" + out("l[2]", "length(l)"), "", [2, 3]),
    (
        "lists grow*",
        "  l = make_list(0, 0, 5)\n  l.append(4)\n  l.append(5)\n" + out("l.length()", "l[1]", "l.pop()", "l.length()"),
        "",
        [2, 5, 5, 1],
    ),
    ("lists are inserted into*", "  l = [1, 3]\n  l.insert(1, 2)\n  l.remove(0)\n" + out("l[0]", "l[1]"), "", [2, 3]),
    (
        "lists are put together*",
        "  l = [1]\n  l.extend([2, 3])\n  m = l.slice(1, 3)\n" + out("l.length()", "m[0]"),
        "",
        [3, 2],
    ),
    ("lists are emptied*", "  l = [1]\n  l.clear()\n" + out("l.length()"), "", [0]),
    ("truth in a list*", "  l = [True, False]\n  if l[0] and not l[1]:\n" + out("1") + "  end\n", "", [1]),
    (
        "same lists*",
        "  if [1, 2] == [1.0, 2.0]:\n" + out("1") + "  end\n  if [1] != [2]:\n" + out("2") + "  end\n",
        "",
        [1, 2],
    ),
    ("a pose has items", "  a = p[1, 2, 3, 0, 0, 0]\n  a[0] = a[0] + a[1]\n" + out("a[0]"), "", [3]),
    ("poses are values", "  a = p[1, 2, 3, 0, 0, 0]\n  b = a\n  b[0] = 7\n" + out("a[0]", "b[0]"), "", [1, 7]),
    (
        "a pose in a pose",
        "  a = pose_trans(p[1, 0, 0, 0, 0, d2r(180)], p[0.25, 0, 0, 0, 0, 0])\n" + out("a[0]"),
        "",
        [0.75],
    ),
    (
        "a pose and its inverse",
        "  a = p[1, 2, 0, 0, 0, 1]\n  b = pose_trans(pose_inv(a), a)\n" + out("norm(b[0] + b[1] + b[5])"),
        "",
        [0],
    ),
    (
        "poses add apart",
        "  a = pose_add(p[1, 0, 0, 0, 0, d2r(180)], p[0.25, 0, 0, 0, 0, 0])\n" + out("a[0]"),
        "",
        [1.25],
    ),
    (
        "poses subtract",
        "  a = pose_sub(p[1, 0, 0, 0, 0, 1], p[0.25, 0, 0, 0, 0, 1])\n" + out("a[0]", "a[5]"),
        "",
        [0.75, 0],
    ),
    (
        "between poses",
        "  a = interpolate_pose(p[0,0,0,0,0,0], p[1,0,0,0,0,1], 0.25)\n" + out("a[0]", "a[5]"),
        "",
        [0.25, 0.25],
    ),
    ("distance of points", out("point_dist(p[0, 0, 0, 0, 0, 0], p[0, 3, 4, 1, 1, 1])"), "", [5]),
    ("distance of poses*", out("pose_dist(p[0, 0, 0, 0, 0, 0], p[0, 3, 4, 0, 0, 0])"), "", [5]),
    (
        "turns and rotation vectors",
        "  r = rpy2rotvec([0, 0, 1])\n  y = rotvec2rpy(r)\n" + out("r[2]", "y[2]"),
        "",
        [1, 1],
    ),
    (
        "a wrench elsewhere*",
        "  w = wrench_trans(p[1, 0, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0])\n" + out("w[2]", "w[4]"),
        "",
        [2, 2],
    ),
    ("a variable called p", "  p = [1, 2]\n  p[0] = p[0] + p[1]\n" + out("p[0]"), "", [3]),
    ("structures", "  s = struct(n = 1, t = [2, 3])\n  s.n = 4\n" + out("s.n", "s.t[1]"), "", [4, 3]),
    ("structures are values*", "  s = struct(n = 1)\n  r = s\n  r.n = 2\n" + out("s.n", "r.n"), "", [1, 2]),
    ("structures in structures*", "  s = struct(a = struct(b = 5))\n  s.a.b = 6\n" + out("s.a.b"), "", [6]),
    ("a list in a structure is set*", "  s = struct(l = [1, 2])\n  s.l[1] = 7\n" + out("s.l[1]"), "", [7]),
    ("while", "  i = 0\n  while i < 3:\n    i = i + 1\n" + out("i") + "  end\n", "", [1, 2, 3]),
    (
        "break and continue",
        "  i = 0\n  while i < 9:\n    i = i + 1\n    if i == 2:\n      continue\n    end\n"
        + "    if i > 3:\n      break\n    end\n"
        + out("i")
        + "  end\n"
        + out("9"),
        "",
        [1, 3, 9],
    ),
    (
        "a loop in a loop",
        "  i = 0\n  n = 0\n  while i < 3:\n    j = 0\n    while j < 4:\n      j = j + 1\n"
        + "      n = n + 1\n      if j == 2:\n        break\n      end\n    end\n    i = i + 1\n  end\n"
        + out("n"),
        "",
        [6],
    ),
    ("a loop that does not begin", "  while False:\n" + out("1") + "  end\n" + out("2"), "", [2]),
    (
        "if, elif, else",
        "  i = 2\n  if i == 1:\n" + out("1") + "  elif i == 2:\n" + out("2") + "  else:\n" + out("3") + "  end\n",
        "",
        [2],
    ),
    ("else", "  if False:\n" + out("1") + "  elif 1 > 2:\n" + out("2") + "  else:\n" + out("3") + "  end\n", "", [3]),
    ("if False does nothing", "  if False:\n" + out("1") + "  end\n" + out("2"), "", [2]),
    (
        "a number as a condition",
        "  if 1:\n" + out("1") + "  end\n  if 0:\n" + out("2") + "  end\n  if 0.5:\n" + out("3") + "  end\n",
        "",
        [1, 3],
    ),
    ("not, and, or", "  if not False and (False or True):\n" + out("1") + "  end\n", "", [1]),
    ("and before or", "  if True or False and False:\n" + out("1") + "  end\n", "", [1]),
    (
        "what is decided is not looked at*",
        "  if False and g():\n    sync()\n  end\n  if True or g():\n" + out("1") + "  end\n",
        "  def g():\n    keep(9)\n    return True\n  end\n",
        [1],
    ),
    ("xor", "  if True xor False:\n" + out("1") + "  end\n  if True xor True:\n" + out("2") + "  end\n", "", [1]),
    (
        "comparisons",
        "  if 1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3 and 1 != 2 and 1 == 1.0:\n" + out("1") + "  end\n",
        "",
        [1],
    ),
    ("texts are compared*", '  if "a" == "a" and "a" != "b" and "a" < "b":\n' + out("1") + "  end\n", "", [1]),
    (
        "switch",
        "  i = 2\n  switch i:\n    case 1:\n"
        + out("1")
        + "    end\n    case 2:\n"
        + out("2")
        + "    end\n    default:\n"
        + out("9")
        + "    end\n  end\n",
        "",
        [2],
    ),
    (
        "switch to its default",
        "  switch 7:\n    case 1:\n" + out("1") + "    end\n    default:\n" + out("9") + "    end\n  end\n",
        "",
        [9],
    ),
    (
        "switch without a case that fits",
        "  switch 7:\n    case 1:\n" + out("1") + "    end\n  end\n" + out("3"),
        "",
        [3],
    ),
    ("halt", out("1") + "  halt\n" + out("2"), "", [1]),
    ("halt in a function*", "  g()\n" + out("2"), "  def g():\n    keep(1)\n    halt\n  end\n", [1]),
    (
        "functions return",
        out("f(1)", "f(1, 5)", "f(b=3, a=1)"),
        "  def f(a, b=2):\n    return a + b\n  end\n",
        [3, 6, 4],
    ),
    (
        "a return ends a function",
        "  g()\n" + out("3"),
        "  def g():\n    keep(1)\n    return 5\n    keep(2)\n  end\n",
        [1, 3],
    ),
    (
        "a return out of a loop",
        out("g(3)"),
        "  def g(n):\n    i = 0\n    while True:\n      i = i + 1\n"
        "      if i == n:\n        return i * 10\n      end\n    end\n  end\n",
        [30],
    ),
    (
        "functions call functions",
        out("g(2)"),
        "  def f(a):\n    return a * a\n  end\n  def g(a):\n    return f(a) + f(a + 1)\n  end\n",
        [13],
    ),
    (
        "functions before their definition",
        out("g(2)"),
        "  def g(a):\n    return f(a) + 1\n  end\n  def f(a):\n    return a * a\n  end\n",
        [5],
    ),
    (
        "recursion*",
        out("g(5)"),
        "  def g(n):\n    if n <= 1:\n      return 1\n    end\n    return n * g(n - 1)\n  end\n",
        [120],
    ),
    (
        "a default that is computed*",
        out("g()", "g(1)"),
        "  base = 4\n  def g(a=base + 1):\n    return a\n  end\n",
        [5, 1],
    ),
    (
        "functions in functions*",
        out("g()"),
        "  def g():\n    def inner(a):\n      return a + 1\n    end\n    return inner(4)\n  end\n",
        [5],
    ),
    ("local hides", "  a = 1\n  g()\n" + out("a"), "  def g():\n    local a = 5\n  end\n", [1]),
    (
        "what was set before a function is the program's",
        "  g()\n" + out("b"),
        "  b = 1\n  def g():\n    b = 7\n  end\n",
        [7],
    ),
    (
        "what is set behind it only is the function's own",
        "  b = 1\n  g()\n" + out("b"),
        "  def g():\n    b = 7\n  end\n",
        [1],
    ),
    ("global", "  g()\n" + out("e"), "  def g():\n    global e = 5\n  end\n", [5]),
    (
        "a function reads what the program sets later",
        "  b = 6\n" + out("g()"),
        "  def g():\n    return b\n  end\n",
        [6],
    ),
    (
        "local in a loop",
        "  i = 0\n  while i < 2:\n    local a = i * 10\n    i = i + 1\n" + out("a") + "  end\n",
        "",
        [0, 10],
    ),
    ("parameters hide", "  a = 1\n" + out("g(4)", "a"), "  def g(a):\n    a = a + 1\n    return a\n  end\n", [5, 1]),
    ("case counts", "  a = 1\n  A = 2\n" + out("a", "A"), "", [1, 2]),
    (
        "words of Python are names",
        "  list = 1\n  str = 2\n  max = 3\n  None = 4\n  t = 5\n  lambda = 6\n"
        + out("list + str + max + None + t + lambda"),
        "",
        [21],
    ),
    (
        "names of the implementation are names",
        "  v_a = 1\n  h_add = 2\n  d = 3\n  f_ = 4\n" + out("v_a + h_add + d + f_"),
        "",
        [10],
    ),
    ("several on a line", "  a = 1 b = 2; c = 3 keep(a + b + c)\n", "", [6]),
    ("a block on a line", "  i = 0 while i < 2: i = i + 1 if i == 2: keep(i) end end\n", "", [2]),
    ("brackets over lines", "  a = [1,\n   2]\n" + out("a[1]"), "", [2]),
    (
        "an operator at the end of a line",
        "  a = 1 +\n    2\n  if False or\n    True:\n" + out("a") + "  end\n",
        "",
        [3],
    ),
    ("an assignment over the end of a line", "  global b = # what for\n4  global c = 5\n" + out("b", "c"), "", [4, 5]),
    ("comments and tabs", "\t# nothing\n\ta = 1 # one\n" + out("a"), "", [1]),
    ("indentation means nothing", "      a = 1\n if a == 1:\n        keep(1)\n   end\n", "", [1]),
    ("labels of PolyScope", '  $ 3 "Waypoint_1" "breakAfter"\n' + out("1"), "", [1]),
    ("critical sections", "  enter_critical\n  a = 1\n  exit_critical\n" + out("a"), "", [1]),
    ("texts are put together*", '  a = str_cat("a", 1)\n' + out("str_len(a)", "str_len(str_cat(a, a))"), "", [2, 4]),
    ("single quotes*", "  a = 'ab\"c'\n" + out("str_len(a)"), "", [4]),
    ("a mark of a comment in a text*", '  a = "a#b"\n' + out("str_len(a)"), "", [3]),
    (
        "places in texts*",
        '  a = "hello"\n' + out('str_find(a, "l")', 'str_find(a, "z")', 'str_find(a, "l", 3)'),
        "",
        [2, -1, 3],
    ),
    (
        "parts of texts*",
        '  a = str_sub("hello", 1, 3)\n  if a == "ell" and str_at(a, 0) == "e":\n' + out("1") + "  end\n",
        "",
        [1],
    ),
    ("the rest of a text*", '  if str_sub("hello", 3) == "lo":\n' + out("1") + "  end\n", "", [1]),
    ("an empty text*", '  if str_empty("") and not str_empty("a"):\n' + out("1") + "  end\n", "", [1]),
    ("numbers of texts*", out('to_num("42") + 1', 'to_num("-1.5")'), "", [43, -1.5]),
    (
        "bits of a number*",
        "  l = integer_to_binary_list(5)\n  if l[0] and not l[1] and l[2]:\n"
        + out("binary_list_to_integer(l)")
        + "  end\n",
        "",
        [5],
    ),
    (
        "threads see the program's variables*",
        "  n = 0\n  h = run t()\n  while n < 3:\n    sync()\n  end\n  kill h\n" + out("n"),
        "  n = 0\n  thread t():\n    while True:\n      n = n + 1\n      sync()\n    end\n  end\n",
        [3],
    ),
    (
        "join waits*",
        "  h = run t()\n  join h\n" + out("n"),
        "  n = 0\n  thread t():\n    sleep(0.02)\n    n = 5\n  end\n",
        [5],
    ),
    (
        "a killed thread does nothing more*",
        "  h = run t()\n  sync()\n  sync()\n  kill h\n  m = n\n  sleep(0.02)\n" + out("n - m"),
        "  n = 0\n  thread t():\n    while True:\n      n = n + 1\n      sync()\n    end\n  end\n",
        [0],
    ),
    ("kill and join of 0*", "  kill 0\n  join 0\n" + out("1"), "", [1]),
    (
        "kill of what has ended*",
        "  h = run t()\n  join h\n  kill h\n  join h\n" + out("1"),
        "  thread t():\n    sync()\n  end\n",
        [1],
    ),
    (
        "a thread begins in the next frame*",
        "  h = run t()\n  keep(n)\n  sync()\n  keep(n)\n  sync()\n  keep(n)\n",
        "  n = 0\n  thread t():\n    n = 1\n  end\n",
        [0, 0, 1],
    ),
    (
        "main first, then in the order of creation*",
        "  h = run a()\n  g = run b()\n  sync()\n  n = n * 10 + 1\n  sync()\n  sync()\n" + out("n"),
        "  n = 0\n  thread a():\n    n = n * 10 + 2\n  end\n  thread b():\n    n = n * 10 + 3\n  end\n",
        [123],
    ),
    ("the end of main ends threads*", "  h = run t()\n", "  thread t():\n    sleep(0.01)\n    keep(1)\n  end\n", [0]),
    (
        "handles are numbers*",
        "  h = 0\n  if h == 0:\n    h = run t()\n  end\n  if h != 0:\n" + out("1") + "  end\n",
        "  thread t():\n    sync()\n  end\n",
        [1],
    ),
    (
        "a thread that ends itself*",
        "  global h = run t()\n  join h\n" + out("n"),
        "  n = 0\n  global h = 0\n  thread t():\n    n = 1\n    kill h\n    n = 2\n  end\n",
        [1],
    ),
    (
        "one step a frame*",
        "  a = read_output_integer_register(0)\n  h = run t()\n  sync()\n  sync()\n  sync()\n  sync()\n" + out("n"),
        "  n = 0\n  thread t():\n    while True:\n      n = n + 1\n      sync()\n    end\n  end\n",
        [3],
    ),
    ("registers*", "  write_output_integer_register(3, 7)\n" + out("read_output_integer_register(3)"), "", [7]),
    (
        "bits of registers*",
        "  write_output_boolean_register(70, True)\n  if read_output_boolean_register(70):\n" + out("1") + "  end\n",
        "",
        [1],
    ),
    (
        "digital outputs*",
        "  set_standard_digital_out(3, True)\n  if get_standard_digital_out(3) and not get_standard_digital_out(2):\n"
        + out("1")
        + "  end\n",
        "",
        [1],
    ),
    (
        "the tool's outputs*",
        "  set_tool_digital_out(1, True)\n  if get_tool_digital_out(1):\n" + out("1") + "  end\n",
        "",
        [1],
    ),
    ("analogue outputs*", "  set_standard_analog_out(1, 0.25)\n" + out("get_standard_analog_out(1)"), "", [0.25]),
    ("flags*", "  set_flag(2, True)\n  if get_flag(2) and not get_flag(1):\n" + out("1") + "  end\n", "", [1]),
    ("the step*", out("get_steptime()"), "", [0.002]),
    ("the tool*", "  set_tcp(p[0, 0, 0.1, 0, 0, 0])\n  a = get_tcp_offset()\n" + out("a[2]"), "", [0.1]),
    (
        "the load*",
        "  set_payload(1.5, [0, 0, 0.05])\n  c = get_target_payload_cog()\n" + out("get_target_payload_mass()", "c[2]"),
        "",
        [1.5, 0.05],
    ),
    (
        "a pose that cannot be reached*",
        "  if not get_inverse_kin_has_solution(p[2.5, 0, 0, 0, 0, 0]):\n" + out("1") + "  end\n",
        "",
        [1],
    ),
    ("a random number*", "  a = random()\n  if a >= 0 and a < 1:\n" + out("1") + "  end\n", "", [1]),
    ("what is asserted holds*", "  assert(1 < 2)\n" + out("1"), "", [1]),
]
READ = [row for row in LANGUAGE if not row[0].endswith("*")]


@pytest.mark.parametrize("name, body, functions, expected", LANGUAGE, ids=[row[0] for row in LANGUAGE])
def test_programs_compute(name, body, functions, expected):
    ran = run(program(body, functions))
    assert not ran.faults
    assert ran.kept[: len(expected)] == pytest.approx(expected, abs=1e-12)
    assert not any(ran.kept[len(expected) :]), "nothing more was kept"


@pytest.mark.parametrize("name, body, functions, expected", READ, ids=[row[0] for row in READ])
def test_the_reader_finds_the_same(name, body, functions, expected):
    read = aw.read_program(program(body, functions, PLACES), "urscript")
    places = [1000.0 * float(move.target.T[0, 3]) for move in read.moves if isinstance(move.target, Pose)]
    assert places == pytest.approx(expected, abs=1e-9)  # numbers went through metres and back
    assert not read.reading.gaps
