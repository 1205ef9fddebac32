{{/* Of everything that the chart makes: also as a subchart, under an alias, and beside another release it is its own. */}}
{{- define "shieldlog.name" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- .Values.fullnameOverride | default $full | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "shieldlog.selector" -}}
app.kubernetes.io/name: shieldlog
app.kubernetes.io/instance: {{ include "shieldlog.name" . }}
{{- end }}

{{- define "shieldlog.labels" -}}
{{ include "shieldlog.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "shieldlog.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "shieldlog.name" .) "default") }}
{{- end }}

{{/* The alerts about this release alone: two releases beside each other do not tell everything twice. */}}
{{- define "shieldlog.alerts" -}}
{{- $own := printf "namespace=%q,job=%q" .Release.Namespace (include "shieldlog.name" .) }}
{{- $text := .Files.Get "alerts.yml" }}
{{- range $name, $written := dict "lagSeconds" "> 900" "lossSeconds" "< 10800" "sinkFailureRatio" "> 0.5" "throttledPerSecond" "> 0.05" "diskFreeBytes" "< 1073741824" "diskFreeRatio" "< 0.1" "volumeRatio" "> 0.9" "figuresAgeSeconds" "> 3600" "clockSkewSeconds" "> 30" }}
{{- $text = regexReplaceAll (printf "%s\\b" $written) $text (printf "%s @%s@" (substr 0 1 $written) $name) }}
{{- end }}
{{- range $name, $limit := .Values.prometheusRule.thresholds }}
{{- $text = replace (printf "@%s@" $name) (toString $limit) $text }}
{{- end }}
{{- $spec := fromYaml $text }}
{{- range $group := $spec.groups }}
{{- range $rule := $group.rules }}
{{- $expr := replace "{job=~\".*shieldlog.*\"}" "" $rule.expr }}
{{- $expr = regexReplaceAll "\\b(shieldlog_[a-z_]+|process_start_time_seconds|up|ALERTS)\\b" $expr (printf "${1}{%s}" $own) }}
{{- $_ := set $rule "expr" (replace "}{" "," $expr) }}
{{- end }}
{{- end }}
{{- toYaml $spec }}
{{- end }}
