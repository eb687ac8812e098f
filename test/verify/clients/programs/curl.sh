#!/bin/sh
# curl, as a script would call it. Prints the bare answers; test/verify/clients/read-raw.ts reads them.
set -u

# ask KEY FILE FLAGS…: one message. Called in a shell of its own: the names that it sets are its own.
ask() {
  KEY=$1 BODY=$2
  shift 2
  curl -s "$BASE_URL/v1/messages" -H "x-api-key: $KEY" -H 'anthropic-version: 2023-06-01' \
    -H 'content-type: application/json' -d "@$BODY" --max-time 20 "$@"
}

# tell CONVERSATION JSON: one line.
tell() {
  printf '{"conversation":"%s","raw":[%s]}\n' "$1" "$2"
}

# The events of a stream as a list.
events() {
  sed -n 's/^data: //p' | paste -sd, -
}

# streamed CONVERSATION: the same body with `stream` set, and its file.
streamed() {
  sed 's/^{/{"stream":true,/' "$BODIES/$1.json" >"$BODIES/$1.streamed.json"
  printf '%s' "$BODIES/$1.streamed.json"
}

# refused KEY FILE: what is answered, with its status in it.
refused() {
  ask "$1" "$2" -w '{"http_status":%{http_code}}' | sed 's/}{"http_status"/,"http_status"/'
}

for name in text images documents caching structured stop; do
  tell "$name" "$(ask "$KEY" "$BODIES/$name.json")"
done
for name in stream long; do
  tell "$name" "$(ask "$KEY" "$(streamed "$name")" --no-buffer | events)"
done
tell abort "$(ask "$KEY" "$(streamed abort)" --no-buffer --max-time 1 | events)"
tell cut "$(ask "$KEY" "$(streamed cut)" --no-buffer | events)"
for name in retry retry-fault; do
  tell "$name" "$(ask "$KEY" "$BODIES/$name.json" --fail --retry 2 --retry-all-errors)"
done
tell count "$(curl -s "$BASE_URL/v1/messages/count_tokens" -H "x-api-key: $KEY" -H 'content-type: application/json' -d "@$BODIES/count.json")"
tell models "$(curl -s "$BASE_URL/v1/models?limit=1000" -H "Authorization: Bearer $KEY")"

sed "s/\"model\":\"[^\"]*\"/\"model\":\"$MISSING_MODEL\"/" "$BODIES/refusals.json" >"$BODIES/missing.json"
poor=$(refused "$POOR_KEY" "$BODIES/refusals.json")
missing=$(refused "$KEY" "$BODIES/missing.json")
stranger=$(refused sk-tp-nobodyhasthiskey "$BODIES/refusals.json")
tell refusals "$poor,$missing,$stranger"
