"""Small templates, each for one construct. (name, template, variables, now)"""

V = {
    "n": 7, "z": 0, "neg": -3, "f": 2.5, "big": 9007199254740993, "t": True, "no": None,
    "s": "Hello World", "e": "", "u": "naïve Straße 日本語 🙂 ΑΣ", "html": "<b>\"x\" & 'y'</b>", "sp": "  pad\t\n",
    "lines": "one\ntwo\r\nthree\n\nfour", "xs": [3, 1, 2], "words": ["b", "A", "c", "a"], "mixed": [1, "a", None, True, 2.0],
    "nested": [[1, 2], [3], []], "d": {"b": 1, "a": [1, {"x": "y"}], "items": "key"}, "ed": {}, "el": [],
    "rows": [
        {"name": "Ann", "age": 31, "tags": ["x", "y"], "addr": {"city": "Lund"}},
        {"name": "bob", "age": 25, "tags": []},
        {"name": "Cid", "age": 31, "tags": ["z"], "addr": {"city": "Oslo"}},
    ],
}

PRINTED = """n|z|neg|f|big|t|no|s|e|u|xs|words|mixed|nested|d|ed|el|rows|missing|1.0|1e16|1e15|0.1|1e-5|0.0001|-0.0
1e22|123456789.125|(1,)|(1,2)|()|[]|{}|{'a':1}|{1:2,true:3,none:4}|[none,true,false]|'it\\'s'|["it's",'q"q',"b'\\"b"]
['\\n\\t\\\\\\x01é\\u200b\\U0001F600']|d.items()|d.keys()|d.values()|range(3)|range(1,9,2)|range(0)|true|True|none
0x1F|0b101|0o17|1_000|"a" "b"|namespace(a=1,b='x')|(1,'a',[2])|{'k':(1,)}|[1.5,2.0]|[u]|'\\x41\\101\\u00e9'|[html]""".replace("\n", "|")

EXPR = r"""n + 1;;n - 10;;n * 2.0;;n / 2;;n // 2;;-n // 2;;n % 3;;-n % 3;;n ** 2;;2 ** -1;;2 ** 3 ** 2;;-2 ** 2;;f // 1;;-f % 2
7.5 // 2;;-7.5 // 2;;1 / 0;;1 // 0;;1 % 0;;1.0 / 0;;'a' + 'b';;'a' * 3;;3 * 'ab';;[1] + [2];;[1, 2] * 2;;(1,) + (2,);;'a' + 1
1 + 'a';;[1] + 'a';;none + 1;;missing + 1;;1 + missing;;'a' ~ 1 ~ none ~ missing ~ true ~ 1.0;;'a' ~ [1, 'b'];;'%s-%d' % ('x', 5);;'%5.2f|%-5s|%05d|%x|%%' % (f, 'a', 42, 255)
'%s' % 'one';;'%s %s' % ('one',);;'%d' % 'x';;'%(a)s' % {'a': 1};;'%r' % 'q';;'%+d % d' % (3, 4);;'%s' % [1, 2];;'%e %g %G' % (12345.678, 0.00001, 1e20);;'%c%c' % (65, 'b');;'%i' % 3.9
n == 7;;n == 7.0;;true == 1;;'a' == 'a';;[1] == [1.0];;{'a': 1} == {'a': 1.0};;none == none;;missing == missing;;missing == none;;1 == '1';;n != 7;;1 < 2 < 3;;1 < 3 < 2
1 < 'a';;'a' < 'b';;'a' < 'B';;[1, 2] < [1, 3];;(1, 2) < (1, 2, 0);;none < 1;;missing < 1;;1 >= 1.0;;'é' > 'z';;1 <= none;;[1] < [none];;n > 3 and n < 9
n and s;;z and s;;z or s;;e or no or 'x';;not z;;not missing;;not not s;;1 in xs;;'ell' in s;;'x' not in s;;'b' in d;;'zz' in d;;1 in 'a';;missing in xs;;1 in missing
1 in 5;;none in mixed;;2 in mixed;;3 in range(5);;'a' if t else 'b';;'a' if z else 'b';;'a' if z;;('a' if z) is defined;;1 if t else 2 if t else 3
s[0];;s[-1];;s[99];;s[1:4];;s[::-1];;s[::2];;s[-5:];;s[5:1];;u[6:12];;u[::-1];;xs[0];;xs[-1];;xs[9];;xs[1:];;xs[:-1];;xs[::-1];;xs[none:2];;xs['a'];;s['upper']();;d['b'];;d['zz'];;d.zz
d.a[1].x;;d['a'][1]['x'];;d.items is callable;;d['items'];;d.zz.y;;missing.x;;missing['x'];;no.x;;no[0];;n.x;;n[0];;xs.0;;xs.5;;rows[0].name;;(1, 2)[1];;{'a': 1}.a;;'abc'[1];;xs[1.0]
xs[::0];;xs['a':];;n[1:];;d[1:];;missing[1:];;range(10)[2:8:3];;range(10)[::-1][0];;s.missing;;s.missing();;d.missing();;n();;none();;missing();;s.upper is callable;;'x'.upper()()
d._private;;d.__class__;;s.__class__;;s.__class__.x;;xs.append(1);;xs.append;;d.update({});;d.pop('b');;xs.sort();;d.pop;;'x' is none or true;;- - 3;;+5;;-s;;-missing;;-true;;not 1 == 2;;(1, 2, 3);;1, 2
[1, 2,][0];;{'a': 1,}.a;;{'a': 1, 'a': 2};;{[1]: 2};;{(1, 2): 3}[(1, 2)];;{1: 'i', '1': 's'}[1];;{true: 'x'}[1];;9223372036854775806 + 1;;1e308 * 10;;-1e308 * 10;;3 .real;;f.is_integer();;n.bit_length()"""

STRING = r"""s.upper();;s.lower();;s.title();;s.capitalize();;s.swapcase();;u.upper();;u.lower();;u.title();;'ß'.upper();;'ΟΔΟΣ'.lower();;'ΟΔΟΣ Σ'.lower();;'İ'.lower()|length;;'ǆ'.title();;'hello wORLD'.capitalize()
sp.strip();;sp.lstrip();;sp.rstrip();;'xxaxx'.strip('x');;'xyaxy'.lstrip('yx');;'abc'.rstrip('cb');;'\u3000a\u3000'.strip();;'a b  c'.split();;' a b '.split(' ');;'a,b,c'.split(',', 1);;'a,b,c'.rsplit(',', 1);;'a b c'.split(none, 1);;' a  b c '.rsplit(none, 1)
'abc'.split('');;lines.splitlines();;lines.splitlines(true);;'a\x0bb\x1cc\u2028d'.splitlines();;s.startswith('He');;s.startswith(('x', 'H'));;s.endswith('ld');;s.startswith('World', 6);;s.endswith('lo', 0, 5);;s.startswith(1);;s.find('o');;s.find('o', 5);;s.rfind('o');;s.find('zz');;s.index('W');;s.index('zz')
u.find('日');;s.count('l');;s.count('');;'aaa'.count('aa');;s.replace('l', 'L');;s.replace('l', 'L', 1);;s.replace('', '-');;'abc'.replace('b', '');;','.join(words);;','.join([1]);;''.join(s);;'-'.join('abc');;'a'.center(6, '*')|string;;'ab'.center(5);;'a'.ljust(3) ~ '|';;'a'.rjust(3);;'7'.zfill(3);;'-7'.zfill(4)
'a=b=c'.partition('=');;'a=b=c'.rpartition('=');;'abc'.partition('x');;'abc'.rpartition('x');;'prefix-a'.removeprefix('prefix-');;'a.txt'.removesuffix('.txt');;'a\tb'.expandtabs(4);;'abc'.isalpha();;'ab1'.isalnum();;'12'.isdigit();;'²'.isdigit();;'²'.isdecimal();;'½'.isnumeric();;' \n'.isspace();;''.isspace()
'AB'.isupper();;'A1'.isupper();;'1'.isupper();;'ab'.islower();;'Ab Cd'.istitle();;'a b'.isidentifier();;'é'.isascii();;'a\x00'.isprintable();;'Straße'.casefold();;'{} {}'.format('a', 1);;'{1} {0}'.format('a', 'b');;'{x} {y[0]} {z.a}'.format(x=1, y=[2], z={'a': 3});;'{!r:>6}'.format('a');;'{:>5}|{:<5}|{:^5}|{:*^7}'.format(1, 2, 'c', 'd')
'{:05d} {:+} {:,} {:.2f} {:e} {:x} {:#x} {:b} {:%}'.format(42, 3, 1234567, 2.345, 12345.6, 255, 255, 5, 0.25);;'{{}}'.format();;'{}'.format();;'{a}'.format();;'{0.__class__}'.format('x');;'{:{}}|'.format('a', 4);;'{a}'.format_map({'a': 1});;'{:.3}'.format('abcdef');;'{:d}'.format('x');;'{:g} {:.3} {}'.format(0.5, 3.14159, 1e20)
'x'.nope();;'a'.join(missing);;s.split(1);;s.replace('a');;s.upper(1);;xs.index(2);;xs.index(9);;xs.count(1);;(1, 1).count(1);;d.get('b');;d.get('q');;d.get('q', 5);;d.get(key='b');;d.keys()|list;;d.values()|list;;d.items()|list;;d.copy();;ed.items()|list"""

FILTER = r"""no|default('x');;missing|default('x');;missing|d;;e|default('x');;e|default('x', true);;z|default(5, boolean=true);;s|upper;;s|lower;;u|upper;;n|upper;;missing|upper;;s|title;;"foo-bar (baz) it's x_y"|title;;'ǆ x'|title;;s|capitalize;;sp|trim;;'xxaxx'|trim('x');;n|trim
s|replace('o', '0');;s|replace('o', '0', 1);;n|replace('7', '8');;s|replace('l', none);;s|length;;u|length;;xs|length;;d|count;;n|length;;missing|length;;range(4)|length;;d.items()|length;;s|first;;s|last;;xs|first;;el|first;;el|last;;el|first is defined;;d|first;;missing|last;;xs|map('string')|first
xs|join;;xs|join(', ');;rows|join(', ', attribute='name');;d|join('-');;missing|join(',');;5|join;;mixed|join('|');;xs|list;;s|list;;d|list;;missing|list;;5|list;;s|reverse;;xs|reverse|list;;range(3)|reverse|list;;5|reverse;;xs|sort;;xs|sort(reverse=true);;words|sort;;words|sort(case_sensitive=true)
words|sort(true, true);;rows|sort(attribute='age')|map(attribute='name')|list;;rows|sort(attribute='age,name', reverse=true)|map(attribute='name')|list;;rows|sort(attribute='addr.city');;mixed|sort;;d|sort;;words|unique|list;;words|unique(true)|list;;[1, 1.0, true, '1']|unique|list;;rows|unique(attribute='age')|map(attribute='name')|list;;[[1]]|unique|list
xs|min;;xs|max;;el|max;;el|min is defined;;words|max;;words|min(true);;rows|max(attribute='age');;['a', 1]|max;;xs|sum;;rows|sum(attribute='age');;xs|sum(start=10);;words|sum;;[[1], [2]]|sum(start=[]);;el|sum;;rows|map(attribute='name')|join(',');;rows|map(attribute='addr.city', default='?')|list;;rows|map(attribute='addr')|list
rows|map(attribute='tags.0')|list;;words|map('upper')|list;;words|map('replace', 'a', 'x')|join;;xs|map('nope')|list;;xs|map|list;;xs|map(attribute='x', y=1)|list;;missing|map('upper')|list;;xs|select|list;;[0, 1, '', 'a']|select|list;;xs|select('odd')|list;;xs|select('gt', 1)|list;;xs|reject('gt', 1)|list;;xs|select('nope')|list;;xs|reject|list
rows|selectattr('addr')|map(attribute='name')|list;;rows|selectattr('age', 'equalto', 31)|map(attribute='name')|list;;rows|rejectattr('age', 'eq', 31)|map(attribute='name')|list;;rows|selectattr('addr.city', 'defined')|list|length;;rows|selectattr('name', 'in', ['bob'])|first|attr('age');;rows|selectattr|list;;(xs|select('gt', 100))|first is defined;;true if xs|select('gt', 100) else false
rows|groupby('age')|list;;rows|groupby('age')|map(attribute='grouper')|list;;rows|groupby('addr.city', default='none')|map('first')|list;;words|groupby(0)|list|length;;d|dictsort;;{'B': 1, 'a': 2}|dictsort;;{'B': 1, 'a': 2}|dictsort(true);;{'x': 2, 'y': 1}|dictsort(by='value', reverse=true);;d|dictsort(by='z');;d|items|list;;missing|items|list;;xs|items|list;;range(7)|batch(3)|list;;range(7)|batch(3, 'x')|list;;range(7)|slice(3)|list;;range(7)|slice(3, 'x')|list
neg|abs;;'a'|abs;;missing|abs;;f|int;;'42'|int;;' 42 '|int;;'4_2'|int;;'42.9'|int;;'x'|int;;'x'|int(-1);;'ff'|int(0, 16);;'0xff'|int(base=16);;'0b11'|int(0, 0);;none|int;;xs|int(3);;missing|int;;true|int;;'1e3'|int;;'3'|float;;'x'|float;;'x'|float(1.5);;n|float;;' 1.5e2 '|float;;'inf'|float;;'nan'|float;;none|float
2.5|round;;3.5|round;;2.675|round(2);;1234.567|round(-2);;n|round;;1250|round(-2);;2.1|round(0, 'ceil');;2.19|round(1, 'floor');;2.1|round(method='x');;'a'|round;;1.005|round(2);;-2.5|round;;1e300|round(2);;s|wordcount;;"a-b c_d é"|wordcount;;lines|indent;;lines|indent(2, true);;lines|indent(2, blank=true);;lines|indent('> ', true);;n|indent;;missing|indent;;''|indent(first=true)
s|truncate(5);;s|truncate(5, true);;s|truncate(9);;s|truncate(5, leeway=0);;s|truncate(8, false, '!', 0);;s|truncate(2);;('word ' * 30)|wordwrap(20);;'a verylongword here'|wordwrap(6);;'a verylongword here'|wordwrap(6, false);;'one-two-three four'|wordwrap(8);;lines|wordwrap(4, wrapstring='|');;s|center(21);;s|format;;'%s-%s'|format('a', 1);;'%(x)s'|format(x=2);;'%s'|format('a', b=1)
n|string;;no|string;;xs|string;;'a b&c/d?é'|urlencode;;{'a b': 'c&d', 'e': 1}|urlencode;;[('x', 'y z')]|urlencode;;n|urlencode;;html|e;;html|escape;;html|safe;;html|e|e;;html|forceescape;;(html|safe)|e;;(html|safe)|forceescape;;html|striptags;;'<p>a <!-- c --> b</p> &lt;x&gt; &amp;amp; &#65;'|striptags;;'<a>' ~ (html|safe);;'<a>' + ('<b>'|safe) + '<c>';;('<b>'|safe) * 2;;('%s'|safe) % '<x>';;('<b>'|safe)|upper
('<b>'|safe).replace('b', '<');;[html|safe];;('a'|safe).join(['<', '>']);;('{}'|safe).format('<');;{'class': 'a<b', 'id': none, 'x': missing}|xmlattr;;{'a': 1}|xmlattr(false);;{'a b': 1}|xmlattr;;1|filesizeformat;;999|filesizeformat;;1000|filesizeformat;;123456789|filesizeformat;;123456789|filesizeformat(true);;'2048'|filesizeformat(binary=true);;1e30|filesizeformat;;d|attr('items') is callable;;d|attr('b');;s|attr('upper') is callable;;rows[0]|attr('name') is defined
d|tojson;;rows|tojson;;u|tojson;;u|tojson(ensure_ascii=true);;html|tojson;;no|tojson;;mixed|tojson;;1.0|tojson;;1e100|tojson;;'inf'|float|tojson;;'nan'|float|tojson;;d|tojson(indent=2);;d|tojson(indent=0);;el|tojson(indent=2);;[[], {}]|tojson(indent=1);;d|tojson(indent='--');;d|tojson(separators=(',', ':'));;d|tojson(indent=2, separators=(', ', ' = '));;{'b': 1, 'a': {'d': 1, 'c': 2}}|tojson(sort_keys=true);;{1: 'a', true: 'b', none: 'c', 1.5: 'd'}|tojson
{(1, 2): 3}|tojson;;{'a': 1, 2: 3}|tojson(sort_keys=true);;missing|tojson;;[missing]|tojson;;(1, 'x')|tojson;;range(3)|tojson;;xs|map('string')|tojson;;namespace()|tojson;;'\x00\x1f\x7f\u2028/'|tojson;;'\x7f'|tojson(true);;d.items()|tojson;;d|tojson(x=1);;d|tojson(true, 1);;('a'|safe)|tojson;;s|nope;;t and s|nope;;x|random if false else 'ok'"""

TEST = r"""n is defined;;missing is defined;;missing is undefined;;d.zz is undefined;;no is none;;z is none;;missing is none;;t is true;;1 is true;;t is boolean;;1 is boolean;;z is false;;n is integer;;t is integer;;f is float;;n is float;;n is number;;t is number;;s is number;;s is string;;n is string;;d is mapping;;xs is mapping;;xs is sequence;;s is sequence;;d is sequence;;n is sequence;;range(3) is sequence
missing is sequence;;xs is iterable;;s is iterable;;n is iterable;;missing is iterable;;d.items() is iterable;;xs|map('upper') is iterable;;xs|map('upper') is sequence;;d.items() is sequence;;range is callable;;s is callable;;s.upper is callable;;missing is callable;;n is odd;;n is even;;neg is odd;;n is divisibleby(7);;n is divisibleby 2;;n is divisibleby(0);;s is odd;;s is upper;;'AB' is upper;;'ab' is lower;;n is lower;;'upper' is filter;;'nope' is filter;;'odd' is test;;'nope' is test
n is sameas(7);;no is sameas none;;t is sameas true;;1 is sameas true;;n is in xs;;3 is in xs;;3 is not in(xs);;'H' is in s;;n is eq 7;;n is eq(8);;n is equalto(7);;n is ne 7;;n is gt 3;;n is ge 7;;n is lt 3;;n is le 7;;n is lessthan(9);;n is greaterthan(9);;n is ==7;;n is not none;;n is not defined;;html is escaped;;(html|safe) is escaped;;n is nope;;t or n is nope;;n is string or s is string;;not n is string;;s is string and n is odd;;xs is in [xs];;n is odd is even"""

BLOCKS = {
    "for": "{% for x in xs %}{{ x }},{% endfor %}",
    "for_else": "{% for x in el %}a{% else %}none{% endfor %}|{% for x in xs %}a{% else %}none{% endfor %}",
    "for_else_continue": "{% for x in xs %}{% continue %}{% else %}ran{% endfor %}",
    "for_else_break": "{% for x in xs %}{% break %}{% else %}ran{% endfor %}|{% for x in xs %}{% if x == 2 %}{% break %}{% endif %}{% else %}ran{% endfor %}",
    "for_unpack": "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "for_unpack_bad": "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "for_unpack_short": "{% for a, b in [[1]] %}{% endfor %}",
    "for_filter": "{% for x in xs if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "for_filter_ns": "{% set ns = namespace(k=0) %}{% for x in [1,2,3,4] if ns.k < 2 %}{% set ns.k = ns.k + 1 %}{{ x }}{% endfor %}",
    "for_filter_peek": "{% set ns = namespace(k=0) %}{% for x in [1,2,3,4] if ns.k < 2 %}{{ loop.last }}{% set ns.k = ns.k + 1 %}{{ x }}{% endfor %}",
    "loop_vars": "{% for x in xs %}{{ loop.index }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }} {{ loop.length }} {{ loop.depth }} {{ loop.depth0 }} {{ loop.previtem }} {{ loop.nextitem }}\n{% endfor %}",
    "loop_cycle": "{% for x in range(5) %}{{ loop.cycle('a', 'b', 'c') }}{% endfor %}{% for x in xs %}{{ loop.cycle() }}{% endfor %}",
    "loop_changed": "{% for x in [1,1,2,2,1] %}{{ loop.changed(x) }} {% endfor %}{% for x in xs %}{{ loop.changed() }}{% endfor %}",
    "loop_prev_undefined": "{% for x in xs %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}{% for x in xs %}{{ loop.previtem.y }}{% endfor %}",
    "loop_missing_attr": "{% for x in xs %}{{ loop.nope }}{% endfor %}",
    "loop_nested": "{% for a in nested %}{% set o = loop %}{% for b in a %}{{ o.index }}.{{ loop.index }} {% endfor %}{% endfor %}",
    "loop_repr": "{% for x in xs %}{{ loop }}{% endfor %}",
    "loop_len_gen": "{% for x in xs|map('string') %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}{% endfor %}",
    "loop_outside": "{{ loop }}{{ loop.index }}",
    "loop_assign": "{% for x in xs %}{% set loop = 1 %}{% endfor %}",
    "recursive": "{% for x in [{'n': 1, 'c': [{'n': 2, 'c': [{'n': 3}]}]}, {'n': 4}] recursive %}[{{ loop.depth }}{{ x.n }}{% if x.c %}{{ loop(x.c) }}{% endif %}]{% endfor %}",
    "recursive_not": "{% for x in xs %}{{ loop(xs) }}{% endfor %}",
    "recursive_endless": "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "break": "{% for x in range(10) %}{% if x == 3 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "continue": "{% for x in range(5) %}{% if x is odd %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "break_outside": "{% break %}",
    "break_in_macro": "{% for x in xs %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "for_not_iterable": "{% for x in 5 %}{% endfor %}",
    "for_none": "{% for x in no %}{% endfor %}",
    "for_missing": "a{% for x in missing %}x{% endfor %}b",
    "for_string": "{% for c in u %}{{ c }}.{% endfor %}",
    "for_dict": "{% for k in d %}{{ k }}{% endfor %}",
    "for_loopvar_scope": "{% for x in xs %}{% endfor %}{{ x }}",
    "for_tuple_iter": "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "for_cond_iter": "{% for x in (xs if t else el) %}{{ x }}{% endfor %}",
    "generator_once": "{% set g = xs|map('string') %}{{ g|list }}{{ g|list }}{% for x in g %}{{ x }}{% endfor %}",
    "generator_truth": "{% set g = xs|select('gt', 100) %}{{ 'yes' if g else 'no' }}{{ g|length }}",
    "generator_index": "{% set g = xs|map('string') %}{{ g[0] is defined }}{{ g.x is defined }}{{ g[0].y }}",
    "if": "{% if z %}a{% elif n %}b{% else %}c{% endif %}{% if missing %}x{% endif %}{% if not e %}y{% endif %}",
    "if_tuple": "{% if z, %}t{% endif %}",
    "if_colon": "{% if t: %}x{% endif %}{% for x in xs: %}{{ x }}{% endfor %}",
    "set": "{% set a = 1 %}{% set b, c = 2, 3 %}{{ a }}{{ b }}{{ c }}{% set a = a + 1 %}{{ a }}",
    "set_tuple": "{% set a = 1, 2 %}{{ a }}{% set x = 1, %}{{ x }}",
    "set_block": "{% set a %}x{{ n }}\ny{% endset %}[{{ a }}]{{ a|length }}",
    "set_block_filter": "{% set a | upper | replace('B', 'c') %}abab{% endset %}{{ a }}",
    "set_block_scope": "{% set v = 1 %}{% set a %}{% set v = 2 %}{{ v }}{% endset %}{{ a }}{{ v }}",
    "set_scope_for": "{% set v = 1 %}{% for x in xs %}{% set v = v + 1 %}{{ v }}{% endfor %}{{ v }}",
    "set_scope_if": "{% if t %}{% set v = 2 %}{% endif %}{{ v }}{% if z %}{% set w = 2 %}{% endif %}{{ w }}",
    "set_scope_context": "{% for x in xs %}{{ n }}{% set n = 1 %}{{ n }}{% endfor %}{{ n }}",
    "set_scope_shadow": "{% for x in xs %}{% for y in [1] %}{{ s }}{% endfor %}{% set s = 5 %}{% endfor %}",
    "set_scope_late": "{% for y in [1] %}{{ s }}{% endfor %}{% set s = 5 %}{{ s }}",
    "set_scope_if_else": "{% for x in xs %}{% if x == 1 %}{% set q = x %}{% endif %}{{ q }};{% endfor %}",
    "set_attr_bad": "{% set d.b = 2 %}",
    "set_attr_missing": "{% set q.b = 2 %}",
    "set_index_bad": "{% set d['b'] = 2 %}",
    "set_const_bad": "{% set 1 = 2 %}",
    "set_true_bad": "{% set true = 2 %}",
    "namespace": "{% set ns = namespace(a=1) %}{% set ns.b = 2 %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns['a'] }}{{ ns }}{% for x in xs %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}",
    "namespace_dict": "{% set ns = namespace({'x': 1}, y=2) %}{{ ns.x }}{{ ns.y }}{{ ns.zz.y }}",
    "namespace_pairs": "{% set ns = namespace([('x', 1)]) %}{{ ns.x }}{% set ns.l, ns.m = 1, 2 %}{{ ns.l }}{{ ns.m }}",
    "macro": "{% macro m(a, b='x', c=none) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(a=3, c=4) }}{{ m() }}{{ m(*[1, 2]) }}{{ m(**{'a': 9}) }}",
    "macro_varargs": "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}",
    "macro_extra": "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "macro_extra_kw": "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, q=2) }}",
    "macro_default_ref": "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(5) }}",
    "macro_undefined_arg": "{% macro m(a) %}{{ a is defined }}{{ a.b }}{% endmacro %}{{ m() }}",
    "macro_closure": "{% set v = 1 %}{% macro m() %}{{ v }}{% endmacro %}{% set v = 2 %}{{ m() }}",
    "macro_closure_loop": "{% macro m() %}{{ x }}{{ n }}{% endmacro %}{% for x in xs %}{{ m() }}{% endfor %}",
    "macro_inner_set": "{% macro m() %}{% set v = 5 %}{{ v }}{% endmacro %}{{ m() }}{{ v }}",
    "macro_recursion": "{% macro f(k) %}{{ k }}{% if k > 0 %},{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "macro_endless": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "macro_attrs": "{% macro m(a, b=1) %}{{ caller() }}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.caller }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m }}",
    "macro_filter": "{% macro m() %}abc{% endmacro %}{{ m()|upper }}{{ m() + 'x' }}{{ m()|length }}",
    "macro_nondefault": "{% macro m(a=1, b) %}{% endmacro %}",
    "macro_in_if": "{% if t %}{% macro m() %}in{% endmacro %}{% endif %}{{ m() }}",
    "macro_whitespace": "{% macro m() %}\n  a\n{% endmacro %}[{{ m() }}]",
    "call": "{% macro m(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call m('b') %}text{{ n }}{% endcall %}",
    "call_args": "{% macro m(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(a, b=0) m(xs) %}({{ a }}:{{ b }}){% endcall %}",
    "call_missing": "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "call_unused": "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}",
    "call_defined": "{% macro m() %}{{ caller is defined }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ m() }}{% call m() %}y{% endcall %}",
    "call_nested": "{% macro o() %}o{{ caller() }}{% endmacro %}{% macro i() %}i{{ caller() }}{% endmacro %}{% call o() %}{% call i() %}x{% endcall %}{% endcall %}",
    "call_scope": "{% macro m() %}{% set v = 2 %}{{ caller() }}{% endmacro %}{% set v = 1 %}{% call m() %}{{ v }}{% endcall %}",
    "call_bad": "{% call 5 %}x{% endcall %}",
    "filter_block": "{% filter upper %}a{{ s }}b{% endfilter %}{% filter replace('a', 'b')|trim %}  aaa {% endfilter %}",
    "filter_block_unknown": "{% filter nope %}x{% endfilter %}",
    "with": "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}",
    "with_outer": "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "block": "{% block x %}[{{ n }}{{ v }}]{% endblock %}{% set v = 3 %}{% block y %}{{ v }}{% endblock y %}",
    "block_loop": "{% for q in xs %}{% block z %}{{ q }}{% endblock %}{% endfor %}|{% for q in xs %}{% block w scoped %}{{ q }}{% endblock %}{% endfor %}",
    "block_twice": "{% block x %}{% endblock %}{% block x %}{% endblock %}",
    "generation": "a{% generation %}b{{ n }}{% set v = 1 %}{{ v }}{% endgeneration %}c{{ v }}",
    "generation_loop": "{% for x in xs %}{%- generation -%} {{ x }} {%- endgeneration -%}{% endfor %}",
    "generation_trim": "a\n  {% generation %}\n  b\n  {% endgeneration %}\nc",
    "print": "{% print n %}{% print n, s %}",
    "autoescape": "{% autoescape false %}{{ html }}{% endautoescape %}",
    "raw": "{% raw %}{{ n }}{% if %}{# c #}{% endraw %}|{%- raw -%} {{ x }} {%- endraw -%}|",
    "raw_trim": "a\n  {% raw %}\n  {{ x }}\n  {% endraw %}\nb",
    "raw_unclosed": "{% raw %}x",
    "comment": "a{# hidden #}b{#- trim -#} c {#\nmulti {{ x }}\n#}\nd",
    "comment_lstrip": "a\n   {# c #}\nb\n   {#+ c +#}\nc",
    "comment_unclosed": "a{# x",
    "trim_blocks": "{% if t %}\nx\n{% endif %}\n\ny\n",
    "lstrip_blocks": "  {% if t %}\n  x\n  {% endif %}\n\t {% set q = 1 %}\nz",
    "lstrip_inline": "a  {% if t %}  b  {% endif %}  c",
    "lstrip_variable": "  {{ n }}\n  {{ s }}\n",
    "lstrip_plus": "  {%+ if t %}x{% endif %}\n  {%+ set q = 1 +%}\ny",
    "minus": "a  {%- if t -%}  b  {%- endif -%}  c {{- n -}} d",
    "minus_newlines": "a\n\n{%- if t %}\n\nb\n\n{%- endif %}\n\nc",
    "minus_unicode": "a\u3000{{- n -}}\u2003b",
    "plus_variable": "a {{+ n }} b",
    "crlf": "a\r\n{% if t %}\r\nb\r\n{% endif %}\r\n{{ 'x\r\ny' }}\rz",
    "final_newline": "a\n\n",
    "final_newline_one": "a\n",
    "only_newline": "\n",
    "empty": "",
    "braces_text": "a { b } c {x} {{ '{' }} {{ '}}' }} {{ {'a': {'b': 1}}['a'] }}",
    "dict_close": "{{ {'a':{'b':{}}}}}",
    "percent_text": "100% {%- set x = '%}' -%} {{ x }}",
    "string_escapes": r"{{ 'a\nb\tc\\d\'e' }}{{ 'q\qz' }}{{ '\x41\u00e9\101' }}",
    "string_concat": "{{ 'a' 'b' \"c\" }}",
    "multiline_expr": "{{ [1,\n 2,\n 3]\n|join(\n',') }}{% if t\n and n %}x{% endif %}",
    "numbers": "{{ 1_000 }}{{ 1.5e3 }}{{ 1e2 }}{{ 0.5 }}{{ 1.0.real }}{{ 0x_f }}",
    "global_range": "{{ range(3)|list }}{{ range(1, 4)|list }}{{ range(5, 0, -2)|list }}{{ range(0)|list }}",
    "range_big": "{% for i in range(100001) %}{% endfor %}",
    "range_max": "{{ range(100000)|length }}",
    "range_bad": "{{ range('a') }}",
    "range_zero": "{{ range(1, 2, 0) }}",
    "global_dict": "{{ dict(a=1, b=2) }}{{ dict({'x': 1}, y=2) }}{{ dict([('p', 1)]) }}{{ dict() }}",
    "global_cycler": "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}",
    "global_joiner": "{% set j = joiner(', ') %}{% for x in xs %}{{ j() }}{{ x }}{% endfor %}",
    "raise": "a{{ raise_exception('roles must alternate: ' ~ s) }}",
    "raise_in_if": "{% if n != 7 %}{{ raise_exception('no') }}{% endif %}ok",
    "raise_value": "{{ raise_exception(n) }}",
    "unknown_tag": "{% foo %}",
    "unclosed_if": "{% if t %}x",
    "unclosed_for": "{% for x in xs %}{% if t %}{% endfor %}",
    "stray_end": "{% endif %}",
    "unclosed_var": "{{ n",
    "unclosed_block": "{% if n",
    "bad_expr": "{{ n + }}",
    "bad_char": "{{ n $ s }}",
    "bad_paren": "{{ (n }}",
    "bad_bracket": "{{ n] }}",
    "empty_expr": "{{ }}",
    "bad_filter_name": "{{ n|5 }}",
    "unknown_filter": "{{ n|nope }}",
    "unknown_filter_if": "{% if z %}{{ n|nope }}{% endif %}ok",
    "unknown_filter_if_run": "{% if t %}{{ n|nope }}{% endif %}ok",
    "unknown_filter_for": "{% if z %}{% for x in xs %}{{ x|nope }}{% endfor %}{% endif %}",
    "unknown_test": "{{ n is nope }}",
    "unknown_test_cond": "{{ 'a' if t else (n is nope) }}",
    "kwargs_order": "{{ dict(**{'a': 1}, b=2) }}",
    "args_order": "{{ range(*[1], 2) }}",
    "undefined_print": "[{{ missing }}{{ missing ~ 'x' }}{{ missing or 'y' }}{{ [missing] }}]",
    "undefined_attr": "{{ d.nope.deeper }}",
    "undefined_item": "{{ xs[10].x }}",
    "undefined_call": "{{ nope(1) }}",
    "undefined_method": "{{ s.nope(1) }}",
    "undefined_iter_len": "{{ missing|length }}{{ missing|list }}{% for x in missing %}{% endfor %}",
    "undefined_none_attr": "{{ no.content }}",
    "undefined_none_attr_deep": "{{ no.content.x }}",
    "undefined_cond": "{{ ('x' if z).y }}",
    "unsafe_attr": "{{ s.__class__.__mro__ }}",
    "unsafe_append": "{% set q = [] %}{% set _ = q.append(1) %}",
    "unsafe_update": "{{ d.update({'x': 1}) }}",
    "unsafe_print": "[{{ xs.append }}{{ s.__class__ }}]",
    "big_output_loop": "{% for i in range(2000) %}{{ i }},{% endfor %}",
    "set_underscore": "{% set _ = 1 %}{{ _ }}",
    "unicode_name": "{% set größe = 3 %}{{ größe }}",
    "keyword_names": "{% set class = 1 %}{% set import_ = 2 %}{{ class }}{{ import_ }}{{ dict(class=1, for_=2) }}",
    "none_names": "{{ None }}{{ none }}{{ True }}{{ true }}{{ False }}{{ false }}",
    "is_then_filter": "{{ n is odd|string }}{{ (n is odd)|string }}{{ n|string is string }}",
    "filter_precedence": "{{ -1|abs }}{{ (-1)|abs }}{{ 2 ** 2|string }}{{ 'a' + 'b'|upper }}{{ not t|string }}{{ 1 ~ 2|string }}",
    "in_precedence": "{{ 'a' ~ 'b' in 'abc' }}{{ 1 + 2 in [3] }}{{ not 1 in [1] }}",
    "cond_chain": "{{ 'a' if z else 'b' if z else 'c' }}{{ ('a' if t else 'b') ~ 'c' }}{{ 'a' if t if z else 'q' }}",
    "slice_tuple": "{{ (1, 2, 3)[1:] }}{{ (1, 2, 3)[::-1] }}",
    "chained_calls": "{{ s.split(' ')[0].lower().replace('h', 'j')|title }}",
    "messages_index": "{{ rows[-1].name }}{{ rows[0]['tags'][-1] }}{{ rows[1].tags|length }}{{ rows[0].addr.city[0] }}",
    "dict_loop_sorted": "{% for k, v in d|dictsort %}{{ k }}:{{ v }};{% endfor %}",
    "dict_items_filter": "{% for k, v in d|items %}{{ k }}:{{ v }};{% endfor %}",
    "empty_dict_if": "{% if ed %}a{% else %}b{% endif %}{% if el %}a{% else %}b{% endif %}{% if ' ' %}a{% endif %}{% if 0.0 %}a{% else %}b{% endif %}",
}

TIMES = ["%Y-%m-%d", "%d %b %Y", "%A, %B %d, %Y %H:%M:%S", "%j %U %w %y %p %I", "%f|%z|%Z|%%", "%-d/%-m", "%e", "%c|%x|%X", "%G-W%V-%u", ""]
MOMENTS = ["2026-05-04T10:11:12", "2024-02-29", "2025-12-31T23:59:59.123456", "2026-01-01T00:00:00+02:00", "2026-07-04T01:02:03Z"]


def all_cases() -> list:
    cases = []
    for group, text in (("expr", EXPR), ("str", STRING), ("filter", FILTER), ("test", TEST)):
        for expression in text.replace("\n", ";;").split(";;"):
            cases.append((f"{group}: {expression}", "{{ " + expression + " }}", V, None))
    for expression in PRINTED.split("|"):
        cases.append((f"print: {expression}", "{{ " + expression + " }}", V, None))
    for name, template in BLOCKS.items():
        cases.append((f"block: {name}", template, V, None))
    for moment in MOMENTS:
        template = "".join("{{ strftime_now(" + repr(t) + ") }}\n" for t in TIMES)
        cases.append((f"time: {moment}", template, {}, moment))
    return cases
