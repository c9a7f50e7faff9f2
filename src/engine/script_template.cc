#include "engine/script_template.h"

namespace tempo9::engine {

// Written for trim_blocks and lstrip_blocks, as chat templates are rendered.
std::string_view script_chat_template() {
  return R"jinja({%- set system = namespace(text='') %}
{%- if messages and messages[0].role == 'system' %}
    {%- set system.text = messages[0].content or '' %}
{%- endif %}
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if system.text %}
        {{- system.text + '\n\n' }}
    {%- endif %}
    {{- '# Tools\n\nThese functions are there to be called, one JSON description a line:\n<tools>\n' }}
    {%- for tool in tools %}
        {{- tool | tojson + '\n' }}
    {%- endfor %}
    {{- '</tools>\n\nA call is a JSON object in tool_call tags, one pair of tags for each call:\n' }}
    {{- '<tool_call>\n{"name": the name, "arguments": an object}\n</tool_call><|im_end|>\n' }}
{%- elif system.text %}
    {{- '<|im_start|>system\n' + system.text + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' }}
        {{- message.content or '' }}
        {{- '\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- elif not (loop.first and message.role == 'system') %}
        {{- '<|im_start|>' }}
        {{- message.role }}
        {{- '\n' }}
        {{- message.content or '' }}
        {%- for call in message.tool_calls or [] %}
            {%- if call.function %}
                {%- set call = call.function %}
            {%- endif %}
            {%- if not loop.first or message.content %}
                {{- '\n' }}
            {%- endif %}
            {{- '<tool_call>\n{"name": ' }}
            {{- call.name | tojson }}
            {{- ', "arguments": ' }}
            {{- call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
)jinja";
}

}  // namespace tempo9::engine
