#!/bin/sh
# The requests of Open WebUI, in its environment. Its own server and page do not run.
export OPENAI_API_BASE_URL=$BASE_URL/v1
export OPENAI_API_KEY=$KEY
exec node open-webui.mjs
