{{- define "shieldlog.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "shieldlog.selector" -}}
app.kubernetes.io/name: shieldlog
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "shieldlog.labels" -}}
{{ include "shieldlog.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
