{{- define "turnpike.pod" -}}
metadata:
  labels:
    {{- include "turnpike.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # A changed file replaces the pods.
    checksum/apply: {{ .Values.apply | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "turnpike.name" . }}
  automountServiceAccountToken: false
  # Without this, Kubernetes sets variables such as TURNPIKE_PORT for a Service named turnpike, which are unknown settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "turnpike.graceSeconds" . }}
  securityContext: {{- include "turnpike.podSecurity" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- with .Values.topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "turnpike.selector" $ | nindent 10 }}
    {{- end }}
    {{- end }}
  containers:
    - name: turnpike
      image: {{ include "turnpike.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve{{ if .Values.apply }}, --apply, /etc/turnpike/turnpike.yaml{{ end }}]
      env: {{- include "turnpike.environment" . | nindent 8 }}
      ports:
        - { name: http, containerPort: 8080 }
        - { name: admin, containerPort: 8081 }
      # Waits for a migration of the tables; the service listens after it.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 900
      # Only a process that does not answer is restarted: a restart helps neither a node that drains nor one whose store is unavailable.
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      # SIGTERM follows, and the pod drains.
      lifecycle: { preStop: { sleep: { seconds: {{ .Values.drain.noticeSeconds }} } } }
      securityContext: {{- include "turnpike.containerSecurity" . | nindent 8 }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /var/lib/turnpike }
        - { name: tmp, mountPath: /tmp }
        {{- if .Values.apply }}
        - { name: apply, mountPath: /etc/turnpike, readOnly: true }
        {{- end }}
        {{- if .Values.secrets.files }}
        - { name: files, mountPath: /run/secrets/turnpike, readOnly: true }
        {{- end }}
  volumes:
    {{- if eq .Values.store "postgresql" }}
    # Address and token for commands in the pod, and uploads while they arrive: more than `spooledBytesMax`, because a pod that
    # exceeds it is evicted.
    - { name: data, emptyDir: { sizeLimit: 20Gi } }
    {{- end }}
    - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
    {{- if .Values.apply }}
    - { name: apply, configMap: { name: {{ include "turnpike.name" . }} } }
    {{- end }}
    {{- with .Values.secrets.files }}
    - { name: files, secret: { secretName: {{ . | quote }}, defaultMode: 0440 } }
    {{- end }}
{{- end }}
