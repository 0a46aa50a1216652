{{- define "coldframe.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "coldframe.selector" -}}
app.kubernetes.io/name: coldframe
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "coldframe.labels" -}}
{{ include "coldframe.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "coldframe.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "coldframe.name" .) -}}
{{- end -}}

{{- define "coldframe.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Where a file of a folder lies. */}}
{{- define "coldframe.path" -}}
{{- if .folder }}{{ .folder }}/{{ end }}{{ .file -}}
{{- end -}}

{{/* The port at which probes are answered. */}}
{{- define "coldframe.probed" -}}
{{- if .Values.signIn.enabled }}metrics{{ else }}dashboard{{ end -}}
{{- end -}}
