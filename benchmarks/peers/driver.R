# Solve again and again in one R process: a penalty on each line of standard input, the seconds of
# processor and wall on standard output, the loadings in a file. Arguments: folder with the data, sparsity. The folder's fit.R defines fit(x, sparsity, penalty).
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
sparsity <- as.integer(arguments[2])
shape <- scan(file.path(folder, "shape"), quiet = TRUE)
whole <- function(name, what, size) {
  stream <- file(file.path(folder, name), "rb")
  on.exit(close(stream))
  readBin(stream, what, n = size, size = if (what == "integer") 4 else 8)
}
source(file.path(folder, "fit.R"))
centre <- FALSE
set.seed(0)
warm <- scale(matrix(rnorm(720), 60, 12), scale = FALSE)  # loads and compiles what is needed
invisible(tryCatch(suppressWarnings(fit(warm, 4, 0.1)), error = function(problem) NULL))
if (file.exists(file.path(folder, "indices"))) {
  library(Matrix)
  x <- new("dgCMatrix", i = whole("indices", "integer", shape[3]), p = whole("starts", "integer", shape[2] + 1),
           x = whole("data", "double", shape[3]), Dim = as.integer(shape[1:2]))
  centre <- whole("means", "double", shape[2])
} else {
  x <- matrix(whole("data", "double", shape[1] * shape[2]), shape[1], shape[2])
}
peak <- function() {
  status <- "/proc/self/status"
  if (!file.exists(status)) return(0)
  line <- grep("^VmHWM", readLines(status), value = TRUE)
  1024 * as.numeric(gsub("[^0-9]", "", line))
}
cat("ready\n")
flush(stdout())
requests <- file("stdin", "r")
while (length(request <- readLines(requests, 1)) == 1) {
  said <- tryCatch({
    set.seed(0)
    start <- proc.time()
    begin <- as.numeric(Sys.time())  # proc.time() tells the wall's time in milliseconds
    loadings <- suppressWarnings(fit(x, sparsity, as.numeric(request)))
    wall <- as.numeric(Sys.time()) - begin
    taken <- proc.time() - start
    writeBin(as.double(loadings), file.path(folder, "loadings"))
    sprintf("%.9f %.9f %.0f", taken[[1]] + taken[[2]], wall, peak())
  }, error = function(problem) paste("error:", gsub("\n", " ", conditionMessage(problem))))
  cat(said, "\n", sep = "")
  flush(stdout())
}
