{{- define "turnpike.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "turnpike.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node
{{- end }}

{{- define "turnpike.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "turnpike.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{- /* How long a pod may take to stop, with the settings of the file that it applies. */}}
{{- define "turnpike.graceSeconds" -}}
{{- $settings := (.Values.apply | fromYaml).settings | default dict }}
{{- $drain := $settings.drain_seconds | default .Values.drain.seconds | int }}
{{- add .Values.drain.noticeSeconds ($settings.drain_notice_seconds | default 0 | int) $drain 30 }}
{{- end }}

{{- define "turnpike.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "turnpike.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* A variable from a Secret: the name, then name and key of the Secret. */}}
{{- define "turnpike.secretVariable" -}}
{{- $variable := index . 0 }}
{{- with index . 1 }}
- name: {{ $variable }}
  valueFrom: { secretKeyRef: { name: {{ .name | quote }}, key: {{ .key | quote }} } }
{{- end }}
{{- end }}

{{- define "turnpike.environment" -}}
- { name: TURNPIKE_LISTEN, value: "0.0.0.0:8080" }
- { name: TURNPIKE_ADMIN_LISTEN, value: "0.0.0.0:8081" }
# Below the volume, so that the service sets the permissions of the directory.
- { name: TURNPIKE_DATA, value: /var/lib/turnpike/data }
{{- with .Values.publicUrl }}
- { name: TURNPIKE_PUBLIC_URL, value: {{ . | quote }} }
{{- end }}
{{- with .Values.trustedProxies }}
- { name: TURNPIKE_TRUSTED_PROXIES, value: {{ join "," . | quote }} }
{{- end }}
{{- with .Values.secrets }}
{{- if .installation.name }}{{ include "turnpike.secretVariable" (list "TURNPIKE_SECRET" .installation) }}{{ end }}
{{- if .previous.name }}{{ include "turnpike.secretVariable" (list "TURNPIKE_PREVIOUS_SECRET" .previous) }}{{ end }}
{{- if eq $.Values.store "postgresql" }}{{ include "turnpike.secretVariable" (list "TURNPIKE_DATABASE_URL" .database) }}{{ end }}
{{- range $name, $secret := .env }}{{ include "turnpike.secretVariable" (list $name $secret) }}{{ end }}
{{- end }}
{{- range $name, $value := .Values.env }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- end }}
