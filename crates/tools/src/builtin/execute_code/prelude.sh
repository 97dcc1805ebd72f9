# Calls a tool: tool NAME ['{"json": "arguments"}']. Prints its result; fails when the tool has failed.
tool() {
  _call=$(mktemp "$TALARIA_TOOLS/XXXXXXXX") || return 1
  printf '%s\n%s' "$1" "$2" > "$_call"
  mv "$_call" "$_call.call"
  until [ -e "$_call.reply" ]; do sleep 0.02; done
  cat "$_call.reply"
  rm -f "$_call.reply"
  [ ! -e "$_call.failed" ]
}
