# medfact for those who host it themselves:
#   docker build -t medfact . && docker run -p 7860:7860 -v medfact:/data medfact
# For strangers, behind a proxy, add -e MEDFACT_PUBLIC=1 -e MEDFACT_PROXY=1 -e MEDFACT_HOSTS=your.host.name; see docs/services.md.
FROM python:3.11.14-slim-bookworm

RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 medfact && mkdir /data && chown medfact:medfact /data

WORKDIR /app
COPY requirements.txt requirements.lock ./
RUN pip install --no-cache-dir -r requirements.txt -c requirements.lock

COPY app.py README.md LICENSE ./
COPY medfact ./medfact
COPY prototypes ./prototypes
COPY assets ./assets

USER medfact
ENV MEDFACT_HOME=/data HF_HOME=/data/huggingface GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s CMD ["python", "-c", "import os, urllib.request as web; web.urlopen('http://127.0.0.1:' + os.environ['GRADIO_SERVER_PORT'] + '/healthz', timeout=4)"]

# tini is process 1: it passes signals on and buries the processes of models
ENTRYPOINT ["tini", "--"]
CMD ["python", "app.py"]
