"""Chat templates that write tool schemas with macros, in the manner of GPT-OSS and Qwen3-Coder, in our own words."""

TYPESCRIPT = """{%- macro render_type(spec, required_params, is_nullable=false) -%}
    {%- if spec.type == "array" -%}
        {%- if spec['items'] -%}
            {%- if spec['items']['type'] == "string" -%}{{- "string[]" }}
            {%- elif spec['items']['type'] in ["number", "integer"] -%}{{- "number[]" }}
            {%- else -%}
                {%- set inner = render_type(spec['items'], required_params) -%}
                {%- if inner == "object | object" or inner|length > 50 -%}{{- "any[]" }}
                {%- else -%}{{- inner + "[]" }}{%- endif -%}
            {%- endif -%}
        {%- else -%}{{- "any[]" }}{%- endif -%}
    {%- elif spec.type is defined and spec.type is iterable and spec.type is not string and spec.type is not mapping and spec.type[0] is defined -%}
        {%- if spec.type | length > 1 -%}{{- spec.type | join(" | ") }}{%- else -%}{{- spec.type[0] }}{%- endif -%}
    {%- elif spec.oneOf -%}
        {%- for variant in spec.oneOf -%}
            {{- render_type(variant, required_params) -}}
            {%- if not loop.last %}{{- " | " }}{% endif -%}
        {%- endfor -%}
    {%- elif spec.type == "string" -%}
        {%- if spec.enum -%}{{- '"' + spec.enum|join('" | "') + '"' -}}{%- else -%}{{- "string" }}{%- endif -%}
    {%- elif spec.type in ["number", "integer"] -%}{{- "number" }}
    {%- elif spec.type == "boolean" -%}{{- "boolean" }}
    {%- elif spec.type == "object" -%}
        {%- if spec.properties -%}
            {{- "{\\n" }}
            {%- for name, prop in spec.properties.items() -%}
                {{- name -}}
                {%- if name not in (spec.required or []) -%}{{- "?" }}{%- endif -%}
                {{- ": " }}{{ render_type(prop, spec.required or []) }}
                {%- if not loop.last -%}{{-", " }}{%- endif -%}
            {%- endfor -%}
            {{- "}" }}
        {%- else -%}{{- "object" }}{%- endif -%}
    {%- else -%}{{- "any" }}{%- endif -%}
{%- endmacro -%}
{%- macro render_tools(namespace_name, tools) -%}
    {{- "## " + namespace_name + "\\n\\n" }}
    {{- "namespace " + namespace_name + " {\\n\\n" }}
    {%- for tool in tools %}
        {%- set tool = tool.function %}
        {{- "// " + (tool.description or '') + "\\n" }}
        {{- "type "+ tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: {\\n" }}
            {%- for name, spec in tool.parameters.properties.items() %}
                {%- if spec.description %}{{- "// " + spec.description + "\\n" }}{%- endif %}
                {{- name }}
                {%- if name not in (tool.parameters.required or []) %}{{- "?" }}{%- endif %}
                {{- ": " }}
                {{- render_type(spec, tool.parameters.required or []) }}
                {%- if spec.default is defined %}
                    {%- if spec.enum %}{{- ", // default: " + spec.default }}
                    {%- elif spec.oneOf %}{{- "// default: " + spec.default|string }}
                    {%- else %}{{- ", // default: " + spec.default|tojson }}{%- endif -%}
                {%- endif %}
                {%- if not loop.last %}{{- ",\\n" }}{%- else %}{{- "\\n" }}{%- endif -%}
            {%- endfor %}
            {{- "}) => any;\\n\\n" }}
        {%- else -%}{{- "() => any;\\n\\n" }}{%- endif -%}
    {%- endfor %}
    {{- "} // namespace " + namespace_name }}
{%- endmacro -%}
{{- "<|start|>system<|message|>Knowledge ends 2024-06\\nToday: " + strftime_now("%Y-%m-%d") + "\\n\\nReasoning: " + (reasoning_effort or "medium") if reasoning_effort is defined else "<|start|>system<|message|>Today: " + strftime_now("%Y-%m-%d") }}
{{- "<|end|>" }}
{%- if messages[0].role in ["developer", "system"] %}
    {%- set developer_message = messages[0].content %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set developer_message = "" %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if developer_message or tools %}
    {{- "<|start|>developer<|message|>" }}
    {%- if developer_message %}{{- "# Instructions\\n\\n" }}{{- developer_message }}{{- "\\n\\n" }}{%- endif %}
    {%- if tools -%}{{- "# Tools\\n\\n" }}{{- render_tools("functions", tools) }}{%- endif -%}
    {{- "<|end|>" }}
{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if message.content and "<|channel|>" in message.content %}{{ raise_exception("Marks in the content.") }}{%- endif %}
        {%- if "tool_calls" in message %}
            {%- set future = namespace(found=false) %}
            {%- for later in loop_messages[loop.index:] %}
                {%- if later.role == 'assistant' and "tool_calls" not in later %}{%- set future.found = true %}{%- endif %}
            {%- endfor %}
            {%- set tool_call = message.tool_calls[0] %}
            {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
            {%- if message.reasoning_content and not future.found %}
                {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.reasoning_content + "<|end|>" }}
            {%- endif %}
            {{- "<|start|>assistant to=" }}
            {{- "functions." + tool_call.name + "<|channel|>commentary " }}
            {{- (tool_call.content_type if tool_call.content_type is defined else "json") + "<|message|>" }}
            {{- tool_call.arguments|tojson }}
            {{- "<|call|>" }}
            {%- set last_tool_call.name = tool_call.name %}
        {%- elif loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
            {%- set last_tool_call.name = none %}
        {%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_tool_call.name is none %}{{- raise_exception("A tool message without a call before it.") }}{%- endif %}
        {{- "<|start|>functions." + last_tool_call.name }}
        {{- " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}"""

XML_CODER = """{% macro render_extra_keys(json_dict, handled_keys) %}
    {%- if json_dict is mapping %}
        {%- for json_key in json_dict if json_key not in handled_keys %}
            {%- if json_dict[json_key] is mapping or (json_dict[json_key] is sequence and json_dict[json_key] is not string) %}
                {{- '\\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | tojson | safe) ~ '</' ~ json_key ~ '>' }}
            {%- else %}
                {{- '\\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | string) ~ '</' ~ json_key ~ '>' }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{% endmacro %}
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = [] %}{%- endif %}
{%- if system_message is defined %}
    {{- "<|im_start|>system\\n" + system_message }}
{%- elif tools is iterable and tools | length > 0 %}
    {{- "<|im_start|>system\\nYou call functions." }}
{%- endif %}
{%- if tools is iterable and tools | length > 0 %}
    {{- "\\n\\n# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {%- if tool.function is defined %}{%- set tool = tool.function %}{%- endif %}
        {{- "\\n<function>\\n<name>" ~ tool.name ~ "</name>" }}
        {%- if tool.description is defined %}{{- '\\n<description>' ~ (tool.description | trim) ~ '</description>' }}{%- endif %}
        {{- '\\n<parameters>' }}
        {%- if tool.parameters is defined and tool.parameters is mapping and tool.parameters.properties is defined and tool.parameters.properties is mapping %}
            {%- for param_name, param_fields in tool.parameters.properties|items %}
                {{- '\\n<parameter>\\n<name>' ~ param_name ~ '</name>' }}
                {%- if param_fields.type is defined %}{{- '\\n<type>' ~ (param_fields.type | string) ~ '</type>' }}{%- endif %}
                {%- if param_fields.description is defined %}{{- '\\n<description>' ~ (param_fields.description | trim) ~ '</description>' }}{%- endif %}
                {%- set handled_keys = ['name', 'type', 'description'] %}
                {{- render_extra_keys(param_fields, handled_keys) }}
                {{- '\\n</parameter>' }}
            {%- endfor %}
        {%- endif %}
        {%- set handled_keys = ['type', 'properties'] %}
        {{- render_extra_keys(tool.parameters, handled_keys) }}
        {{- '\\n</parameters>\\n</function>' }}
    {%- endfor %}
    {{- "\\n</tools>" }}
{%- endif %}
{%- if system_message is defined or (tools is iterable and tools | length > 0) %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in loop_messages %}
    {%- if message.role == "assistant" and message.tool_calls is defined and message.tool_calls is iterable and message.tool_calls | length > 0 %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content is defined and message.content is string and message.content | trim | length > 0 %}
            {{- '\\n' + message.content | trim + '\\n' }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}{%- set tool_call = tool_call.function %}{%- endif %}
            {{- '\\n<tool_call>\\n<function=' + tool_call.name + '>\\n' }}
            {%- if tool_call.arguments is defined %}
                {%- for args_name, args_value in tool_call.arguments|items %}
                    {{- '<parameter=' + args_name + '>\\n' }}
                    {%- set args_value = args_value | tojson | safe if args_value is mapping or (args_value is sequence and args_value is not string) else args_value | string %}
                    {{- args_value }}
                    {{- '\\n</parameter>\\n' }}
                {%- endfor %}
            {%- endif %}
            {{- '</function>\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "user" or message.role == "system" or message.role == "assistant" %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.previtem and loop.previtem.role != "tool" %}{{- '<|im_start|>user\\n' }}{%- endif %}
        {{- '<tool_response>\\n' }}{{- message.content }}{{- '\\n</tool_response>\\n' }}
        {%- if not loop.last and loop.nextitem.role != "tool" %}{{- '<|im_end|>\\n' }}{%- elif loop.last %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
